# SPDX-License-Identifier: Apache-2.0
# Unit tests of odeonctl.  Those of its commands link a library without a service in place of
# libodeon.
if(NOT TARGET PkgConfig::CMOCKA)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

set(fake_odeon)
foreach(noun odeon actor client group letter message observe plugin port stats timer)
    list(APPEND fake_odeon ${CMAKE_CURRENT_LIST_DIR}/fake_${noun}.c)
endforeach()

foreach(module doctor table messages mistakes sums topology)
    add_executable(test_ctl_${module} ${CMAKE_CURRENT_LIST_DIR}/test_ctl_${module}.c
        ${fake_odeon})
    target_link_libraries(test_ctl_${module} PRIVATE odeon_options odeonctl_core odeon_static
        odeon_test_scratch PkgConfig::CMOCKA)
    add_test(NAME unit/ctl_${module} COMMAND test_ctl_${module})
endforeach()

foreach(module table draw requests threads)
    add_executable(test_top_${module} ${CMAKE_CURRENT_LIST_DIR}/test_top_${module}.c)
    target_link_libraries(test_top_${module} PRIVATE odeon_options odeonctl_core odeon_static
        PkgConfig::CMOCKA)
    add_test(NAME unit/top_${module} COMMAND test_top_${module})
endforeach()

target_sources(test_top_requests PRIVATE ${fake_odeon})

add_executable(test_trace_tree ${CMAKE_CURRENT_LIST_DIR}/test_trace_tree.c)
target_link_libraries(test_trace_tree PRIVATE odeon_options odeonctl_core odeon_static
    PkgConfig::CMOCKA)
add_test(NAME unit/trace_tree COMMAND test_trace_tree)

add_test(NAME unit/ctl_manual COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_ctl_manual.sh
    $<TARGET_FILE:odeonctl> ${PROJECT_SOURCE_DIR}/docs/man)
set_tests_properties(unit/ctl_doctor unit/ctl_table unit/ctl_messages
    unit/ctl_mistakes unit/ctl_sums unit/ctl_topology unit/ctl_manual
    unit/top_table unit/top_draw unit/top_requests unit/top_threads unit/trace_tree
    PROPERTIES LABELS "unit;cpu-600")
