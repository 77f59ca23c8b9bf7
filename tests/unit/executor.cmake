# SPDX-License-Identifier: Apache-2.0
# Unit tests of daemon/executor; included by tests/unit/CMakeLists.txt.
if(NOT TARGET PkgConfig::CMOCKA)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

foreach(module settings topology topology_watch cpus plugin_check message_object host rate control
        phases reload load)
    set(name test_executor_${module})
    add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
    target_link_libraries(${name} PRIVATE odeon_options odeon_executor_core PkgConfig::CMOCKA)
    add_test(NAME unit/executor_${module} COMMAND ${name})
    set_tests_properties(unit/executor_${module} PROPERTIES LABELS "unit;cpu-600")
endforeach()

target_link_options(test_executor_plugin_check PRIVATE -Wl,--wrap=process_vm_readv)
target_link_options(test_executor_reload PRIVATE -Wl,--wrap=calloc)
target_link_options(test_executor_load PRIVATE -Wl,--wrap=calloc)
target_compile_definitions(test_executor_load PRIVATE TEST_GOOD="$<TARGET_FILE:hostile_good>")
add_dependencies(test_executor_load hostile_good)
target_compile_definitions(test_executor_topology PRIVATE
    MACHINES="${CMAKE_CURRENT_LIST_DIR}/machines")

# The whole program, with the hostile plugins.
add_subdirectory(${PROJECT_SOURCE_DIR}/tests/hostile/plugins
    ${CMAKE_CURRENT_BINARY_DIR}/hostile_plugins)
foreach(module process progress)
    set(name test_executor_${module})
    add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c
        ${CMAKE_CURRENT_LIST_DIR}/executor_fixture.c)
    target_link_libraries(${name} PRIVATE odeon_options odeon_common odeon_control
        PkgConfig::CMOCKA)
    add_dependencies(${name} odeon-executor)
    add_test(NAME unit/executor_${module} COMMAND ${name} $<TARGET_FILE:odeon-executor>
        $<TARGET_FILE_DIR:hostile_good>)
    set_tests_properties(unit/executor_${module} PROPERTIES LABELS "unit;cpu-600")
endforeach()

# A library before all others, which a sanitizer's runtime would have to be.
if(NOT ODEON_SANITIZE)
    add_library(unit_no_first_type MODULE ${CMAKE_CURRENT_LIST_DIR}/no_first_type.c)
    target_link_libraries(unit_no_first_type PRIVATE odeon_options)
    target_compile_options(unit_no_first_type PRIVATE -fno-builtin)
    set_target_properties(unit_no_first_type PROPERTIES PREFIX "" OUTPUT_NAME no_first_type
        C_VISIBILITY_PRESET default)
    add_executable(test_executor_groups ${CMAKE_CURRENT_LIST_DIR}/test_executor_groups.c
        ${CMAKE_CURRENT_LIST_DIR}/executor_fixture.c)
    target_link_libraries(test_executor_groups PRIVATE odeon_options odeon_common odeon_control
        PkgConfig::CMOCKA)
    target_compile_definitions(test_executor_groups PRIVATE
        TEST_NO_FIRST_TYPE="$<TARGET_FILE:unit_no_first_type>")
    add_dependencies(test_executor_groups odeon-executor unit_no_first_type)
    add_test(NAME unit/executor_groups COMMAND test_executor_groups $<TARGET_FILE:odeon-executor>)
    set_tests_properties(unit/executor_groups PROPERTIES LABELS "unit;cpu-60")
endif()

if(ODEON_PROBES)
    add_test(NAME unit/probes
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_probes.sh ${PROJECT_SOURCE_DIR}
            $<TARGET_FILE:odeon-executor> ${CMAKE_C_COMPILER})
    set_tests_properties(unit/probes PROPERTIES LABELS "unit;cpu-60")
endif()
