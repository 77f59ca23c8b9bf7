# SPDX-License-Identifier: Apache-2.0
# Unit tests of client-lib/src.
if(NOT TARGET PkgConfig::CMOCKA)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

foreach(name ring ring_distrust post_with release arm port_threads call connection reconnect stats
    codec texts observe_file fields helper)
    add_executable(test_${name} ${PROJECT_SOURCE_DIR}/tests/unit/test_${name}.c)
    target_link_libraries(test_${name} PRIVATE odeon_options odeon_static odeon_test_scratch
        PkgConfig::CMOCKA m)
    add_test(NAME unit/${name} COMMAND test_${name})
    set_tests_properties(unit/${name} PROPERTIES LABELS "unit;cpu-600")
endforeach()
foreach(name ring ring_distrust post_with release arm port_threads call connection reconnect)
    target_sources(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/clientlib_fake.c)
endforeach()
target_compile_definitions(test_texts PRIVATE
    ODEON_HEADERS="${PROJECT_SOURCE_DIR}/client-lib/include/odeon")
foreach(name connection reconnect)
    target_sources(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/connection_service.c)
endforeach()

if(NOT ODEON_SANITIZE) # the surface is that of the library that is shipped
    add_executable(test_world_groups ${CMAKE_CURRENT_LIST_DIR}/test_world_groups.c
        ${PROJECT_SOURCE_DIR}/tests/system/chorus.c)
    target_link_libraries(test_world_groups PRIVATE odeon_options odeon-test)
    add_test(NAME unit/world_groups COMMAND test_world_groups)
    set_tests_properties(unit/world_groups PROPERTIES LABELS "unit;cpu-600")
    add_executable(test_world_port_monitors ${CMAKE_CURRENT_LIST_DIR}/test_world_port_monitors.c
        ${PROJECT_SOURCE_DIR}/tests/system/ends.c)
    target_link_libraries(test_world_port_monitors PRIVATE odeon_options odeon-test)
    add_test(NAME unit/world_port_monitors COMMAND test_world_port_monitors)
    set_tests_properties(unit/world_port_monitors PROPERTIES LABELS "unit;cpu-600")
    find_program(CXX_FOR_HEADERS NAMES g++ clang++)
    add_test(NAME unit/api_symbols
        COMMAND ${PROJECT_SOURCE_DIR}/tests/unit/test_api_symbols.sh ${PROJECT_SOURCE_DIR}
        $<TARGET_FILE:odeon> ${CMAKE_C_COMPILER}
            $<$<BOOL:${CXX_FOR_HEADERS}>:${CXX_FOR_HEADERS}>)
    set_tests_properties(unit/api_symbols PROPERTIES LABELS "unit;cpu-600")
    add_test(NAME unit/api_errors
        COMMAND ${PROJECT_SOURCE_DIR}/tests/unit/test_api_errors.sh ${PROJECT_SOURCE_DIR})
    set_tests_properties(unit/api_errors PROPERTIES LABELS "unit;cpu-600")
    add_test(NAME unit/pkg_config
        COMMAND ${PROJECT_SOURCE_DIR}/tests/unit/test_pkg_config.sh ${PROJECT_SOURCE_DIR})
    set_tests_properties(unit/pkg_config PROPERTIES LABELS "unit;cpu-600" SKIP_RETURN_CODE 77)
endif()

# <odeon/test.h>, on a plugin that is linked in and on one that is a file.
if(TARGET odeon-test)
    add_executable(test_world ${CMAKE_CURRENT_LIST_DIR}/test_world.c
        ${CMAKE_CURRENT_LIST_DIR}/world_plugin.c)
    target_link_libraries(test_world PRIVATE odeon_options odeon-test PkgConfig::CMOCKA)
    add_library(world_plugin MODULE ${CMAKE_CURRENT_LIST_DIR}/world_plugin.c)
    target_link_libraries(world_plugin PRIVATE odeon_options)
    target_include_directories(world_plugin PRIVATE ${PROJECT_SOURCE_DIR}/client-lib/include)
    add_test(NAME unit/world COMMAND test_world $<TARGET_FILE:counter-plugin>
        $<TARGET_FILE:world_plugin>)
    find_program(CXX_FOR_HEADERS NAMES g++ clang++)
    add_test(NAME unit/world_symbols
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_world_symbols.sh ${PROJECT_SOURCE_DIR}
            $<TARGET_FILE:odeon-test> ${CMAKE_C_COMPILER}
            $<$<BOOL:${CXX_FOR_HEADERS}>:${CXX_FOR_HEADERS}>)
    set_tests_properties(unit/world unit/world_symbols PROPERTIES LABELS "unit;cpu-600")
endif()
