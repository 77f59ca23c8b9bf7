# SPDX-License-Identifier: Apache-2.0
# Unit tests of daemon/common and daemon/supervisor; included by tests/unit/CMakeLists.txt.
if(NOT TARGET PkgConfig::CMOCKA)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

foreach(module frame frame_queue memfd memory_limit config log check name)
    add_executable(test_${module} ${CMAKE_CURRENT_LIST_DIR}/test_${module}.c)
    target_link_libraries(test_${module} PRIVATE odeon_options odeon_common odeon_test_scratch
        PkgConfig::CMOCKA)
    add_test(NAME unit/${module} COMMAND test_${module})
    set_tests_properties(unit/${module} PROPERTIES LABELS "unit;cpu-600")
endforeach()

foreach(module line executor_link port_table channel runtime options parts registry start_delay
        access peer offenders file_pages closer unpack turn_share own_settings)
    set(name test_supervisor_${module})
    add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
    target_link_libraries(${name} PRIVATE odeon_options odeon_supervisor_core odeon_test_scratch
        PkgConfig::CMOCKA)
    add_test(NAME unit/supervisor_${module} COMMAND ${name})
    set_tests_properties(unit/supervisor_${module} PROPERTIES LABELS "unit;cpu-600")
endforeach()
target_link_options(test_supervisor_peer PRIVATE -Wl,--wrap=getsockopt)
target_link_options(test_supervisor_closer PRIVATE -Wl,--wrap=close)
target_link_options(test_supervisor_runtime PRIVATE -Wl,--wrap=nanosleep)

# The real programs, spoken to frame by frame.
if(TARGET odeon-executor)
    foreach(module protocol restart)
        set(name test_supervisor_${module})
        add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c
            ${CMAKE_CURRENT_LIST_DIR}/supervisor_fixture.c)
        target_link_libraries(${name} PRIVATE odeon_options odeon_common odeon_test_scratch
            PkgConfig::CMOCKA)
        add_dependencies(${name} odeond odeon-executor)
        add_test(NAME unit/supervisor_${module} COMMAND ${name} $<TARGET_FILE:odeond>
            $<TARGET_FILE:odeon-executor>)
        set_tests_properties(unit/supervisor_${module} PROPERTIES LABELS "unit;cpu-600")
    endforeach()
endif()
