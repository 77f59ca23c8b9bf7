# SPDX-License-Identifier: Apache-2.0
# Unit tests of odeon-exporter.
foreach(module text figures web)
    add_executable(test_exporter_${module} ${CMAKE_CURRENT_LIST_DIR}/test_exporter_${module}.c)
    target_link_libraries(test_exporter_${module} PRIVATE odeon_options odeon_exporter_core
        odeon_static odeon_test_scratch PkgConfig::CMOCKA)
    add_test(NAME unit/exporter_${module} COMMAND test_exporter_${module})
    set_tests_properties(unit/exporter_${module} PROPERTIES LABELS "unit;cpu-600")
endforeach()

target_link_options(test_exporter_web PRIVATE
    -Wl,--wrap=MHD_create_response_from_buffer_with_free_callback_cls)
