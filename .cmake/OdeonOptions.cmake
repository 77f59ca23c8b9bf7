# SPDX-License-Identifier: Apache-2.0
# The flags of every target, once: link odeon_options.
include(CheckCCompilerFlag)

option(ODEON_STATISTICS "count what the engine does; OFF only to measure what counting costs" ON)

option(ODEON_PROBES "static probes for tracers, where sys/sdt.h is (systemtap-sdt-dev)" ON)

add_library(odeon_options INTERFACE)
target_include_directories(odeon_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(odeon_options INTERFACE _GNU_SOURCE)
target_compile_options(odeon_options INTERFACE -Wall -Wextra -fno-common -fno-strict-aliasing
    -fstack-protector-strong)
target_link_options(odeon_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,--as-needed)

# Each warning has found, or would have found, a real mistake in code like this; those that a
# compiler does not know are left out.
foreach(flag
        -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wwrite-strings -Wvla -Wformat=2
        -Wformat-signedness
        -Wimplicit-fallthrough -Wlogical-op -Wduplicated-cond -Wduplicated-branches
        -Wnull-dereference -Wjump-misses-init
        -Wdate-time -Wsuggest-attribute=noreturn -Wsuggest-attribute=format
        -Werror=implicit-function-declaration -Werror=int-conversion
        -Werror=incompatible-pointer-types -Werror=return-type)
    string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
        target_compile_options(odeon_options INTERFACE ${flag})
    endif()
endforeach()

if(ODEON_WERROR)
    target_compile_options(odeon_options INTERFACE -Werror)
endif()
if(NOT ODEON_STATISTICS)
    target_compile_definitions(odeon_options INTERFACE ODEON_STATISTICS=0)
endif()
if(NOT ODEON_PROBES)
    target_compile_definitions(odeon_options INTERFACE ODEON_PROBES=0)
endif()
if(ODEON_SANITIZE)
    target_compile_options(odeon_options INTERFACE -fsanitize=${ODEON_SANITIZE}
        -fno-omit-frame-pointer -g)
    target_link_options(odeon_options INTERFACE -fsanitize=${ODEON_SANITIZE})
    if(ODEON_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # Fences only order what is otherwise ordered by acquire and release, or close a store-load
        # gap that is no data race.
        target_compile_options(odeon_options INTERFACE -Wno-tsan)
    endif()
    if(ODEON_SANITIZE MATCHES "undefined")
        target_compile_options(odeon_options INTERFACE -fno-sanitize-recover=undefined)
    endif()
endif()
if(ODEON_FUZZ) # coverage for libFuzzer everywhere, its main() only where a fuzzer is linked
    target_compile_options(odeon_options INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(odeon_options INTERFACE -fsanitize=fuzzer-no-link)
    target_compile_definitions(odeon_options INTERFACE ODEON_FUZZ=1)
endif()
# Invariants are asserted in every build, also in those whose flags CMake has filled with NDEBUG.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(CMAKE_C_FLAGS_RELEASE "-O3 -g")
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" odeon_type)
if("${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${odeon_type}}" MATCHES "NDEBUG")
    target_compile_options(odeon_options INTERFACE -UNDEBUG)
endif()
# What is installed does not tell where it was built, and is the same wherever that was.  Whoever
# works on the tree has a debugger that finds the sources by their paths.
if(NOT ODEON_TESTS)
    add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
endif()
