# SPDX-License-Identifier: Apache-2.0
# Unit tests of daemon/engine, in the test's own process.
if(NOT TARGET PkgConfig::CMOCKA)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# TSan builds know the engine's fences by its own header; the tests read words that workers write.
function(add_engine_test module labels timeout)
    set(name test_engine_${module})
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/unit/${name}.c)
    target_link_libraries(${name} PRIVATE odeon_options odeon_engine PkgConfig::CMOCKA)
    add_test(NAME unit/engine_${module} COMMAND ${name})
    set_tests_properties(unit/engine_${module} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
endfunction()

add_engine_test(recover "unit;stress" 240)
add_engine_test(recover_states "unit" 60)
add_engine_test(steal "unit;stress" 120)
add_engine_test(turn "unit" 60)
add_engine_test(actors "unit" 60)
add_engine_test(segment "unit" 60)
add_engine_test(queue "unit;stress" 60)
add_engine_test(outbox "unit" 60)

# Recovery again, with the engine's injection points compiled in: its objects come first, so that nothing is taken from the library.
file(GLOB engine_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/daemon/engine/*.c)
add_executable(test_engine_recover_injected ${PROJECT_SOURCE_DIR}/tests/unit/test_engine_recover.c ${engine_sources})
target_compile_definitions(test_engine_recover_injected PRIVATE ODEON_INJECT=1)
target_link_libraries(test_engine_recover_injected PRIVATE odeon_options odeon_common Threads::Threads PkgConfig::CMOCKA)
add_test(NAME unit/engine_recover_injected COMMAND test_engine_recover_injected)
set_tests_properties(unit/engine_recover_injected PROPERTIES LABELS "unit;stress" TIMEOUT 240)
