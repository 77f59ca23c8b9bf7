# SPDX-License-Identifier: Apache-2.0
# What a build needs of the machine, looked for before anything else: whoever lacks five things is
# told of five things, with the names that Debian has for them, and not of the first one.  Read
# before project(), which itself gives up without a compiler.
set(ODEON_NEEDED "")          # a line for each thing that is missing
set(ODEON_NEEDED_PACKAGES "") # the packages that have them

# odeon_need(WHAT FOUND PACKAGE...): notes a thing that is not there; FOUND is a variable's name.
macro(odeon_need what found)
    if(NOT ${found})
        string(APPEND ODEON_NEEDED "    ${what}\n")
        list(APPEND ODEON_NEEDED_PACKAGES ${ARGN})
    endif()
endmacro()

# odeon_need_program(PROGRAM WHAT-FOR PACKAGE...)
macro(odeon_need_program program purpose)
    find_program(odeon_found NAMES ${program} NO_CACHE NO_DEFAULT_PATH PATHS ENV PATH)
    odeon_need("${program}: ${purpose}" odeon_found ${ARGN})
    unset(odeon_found)
endmacro()

# odeon_need_library(MODULE PACKAGE): by pkg-config's name.
macro(odeon_need_library module package)
    execute_process(COMMAND ${odeon_pkg_config} --exists ${module} RESULT_VARIABLE odeon_failed
        OUTPUT_QUIET ERROR_QUIET)
    if(odeon_failed)
        string(APPEND ODEON_NEEDED "    ${module}: a library and its headers\n")
        list(APPEND ODEON_NEEDED_PACKAGES ${package})
    endif()
endmacro()

# What makes packages right: without `file` and dpkg-shlibdeps they would name no libraries that
# they depend on, without scdoc they would have no manuals.
macro(odeon_need_packaging)
    odeon_need_program(dpkg-deb "makes the packages" dpkg)
    odeon_need_program(dpkg-shlibdeps "finds the libraries that a package depends on" dpkg-dev)
    odeon_need_program(file "tells programs from other files in a package" file)
    odeon_need_program(scdoc "makes the manual pages" scdoc)
    odeon_need_program(gzip "compresses them" gzip)
endmacro()

# Ends with one message when something is missing.
macro(odeon_refuse_if_needed purpose)
    if(ODEON_NEEDED)
        list(REMOVE_DUPLICATES ODEON_NEEDED_PACKAGES)
        list(JOIN ODEON_NEEDED_PACKAGES " " odeon_packages)
        message(FATAL_ERROR "${purpose}: this machine lacks\n${ODEON_NEEDED}"
            "  On Debian, as root:\n"
            "    apt-get install --no-install-recommends ${odeon_packages}\n")
    endif()
endmacro()

# A compiler that can compile something which includes a header of the C library.
macro(odeon_need_compiler)
    if(CMAKE_C_COMPILER)
        set(odeon_cc ${CMAKE_C_COMPILER})
    elseif(DEFINED ENV{CC})
        separate_arguments(odeon_cc NATIVE_COMMAND "$ENV{CC}")
    else()
        find_program(odeon_cc NAMES cc gcc clang NO_CACHE)
    endif()
    set(odeon_compiles FALSE)
    if(odeon_cc)
        execute_process(COMMAND ${odeon_cc} -include stdio.h -E -x c /dev/null
            RESULT_VARIABLE odeon_failed OUTPUT_QUIET ERROR_QUIET)
        if(odeon_failed EQUAL 0)
            set(odeon_compiles TRUE)
        endif()
    endif()
    odeon_need("cc: a C compiler, and the headers of the C library" odeon_compiles gcc libc6-dev)
    unset(odeon_cc)
endmacro()

macro(odeon_need_build)
    odeon_need_compiler()
    if(CMAKE_GENERATOR MATCHES "^Ninja" AND NOT CMAKE_MAKE_PROGRAM)
        odeon_need_program(ninja "builds, as the presets want it" ninja-build)
    endif()
    if(DEFINED ENV{PKG_CONFIG})
        set(odeon_pkg_config $ENV{PKG_CONFIG})
    else()
        set(odeon_pkg_config pkg-config)
        odeon_need_program(pkg-config "finds the libraries" pkg-config)
    endif()
    find_program(odeon_protoc NAMES protoc-c protoc-gen-c NO_CACHE)
    odeon_need("protoc-c: writes the code of the control protocol" odeon_protoc
        protobuf-c-compiler)
    unset(odeon_protoc)
    odeon_need_library(libuv libuv1-dev)
    odeon_need_library(hwloc libhwloc-dev)
    odeon_need_library(libprotobuf-c libprotobuf-c-dev)
    odeon_need_library(libsystemd libsystemd-dev)
    odeon_need_library(smartcols libsmartcols-dev)
    odeon_need_library(libmicrohttpd libmicrohttpd-dev)
    odeon_need_library(ncursesw libncurses-dev)
    if(ODEON_TESTS OR NOT DEFINED ODEON_TESTS)
        odeon_need_library(cmocka libcmocka-dev)
    endif()
endmacro()

# Who builds for another machine knows what lies where; cpack, which reads this, too, builds
# nothing.
if(NOT CMAKE_TOOLCHAIN_FILE AND NOT CMAKE_SYSTEM_NAME AND NOT CPACK_ODEON_REQUIREMENTS)
    odeon_need_build()
    if(ODEON_PACKAGE)
        odeon_need_packaging()
    endif()
    odeon_refuse_if_needed("Odeon cannot be built")
endif()
