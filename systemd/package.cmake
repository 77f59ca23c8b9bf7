# SPDX-License-Identifier: Apache-2.0
# Debian packages from any build: odeon (service, library, tool) and libodeon-dev (headers).  `cmake
# --workflow --preset package` makes them from a build of their own; `cpack --config
# BUILD/CPackConfig.cmake` from one that is there.
#
# Files go through DESTDIR with the prefix of packages, so that what names installed paths is made
# for that prefix.
set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The authors of Odeon <odeon@localhost>")
# Components `package` and `packagedev` are the packages' alone: configuration, changelog and
# copyright.
set(CPACK_COMPONENTS_ALL service package dev packagedev)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_SERVICE_GROUP odeon)
set(CPACK_COMPONENT_PACKAGE_GROUP odeon)
set(CPACK_COMPONENT_DEV_GROUP dev)
set(CPACK_COMPONENT_PACKAGEDEV_GROUP dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Read by cpack itself before it begins: what it needs, and the time of what it packs.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/cpack.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/modes.cmake)
set(CPACK_ODEON_SOURCE_DATE ${ODEON_SOURCE_DATE})
set(CPACK_ODEON_REQUIREMENTS ${PROJECT_SOURCE_DIR}/.cmake/OdeonRequirements.cmake)

set(CPACK_DEBIAN_ODEON_PACKAGE_NAME odeon)
set(CPACK_DEBIAN_ODEON_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_ODEON_PACKAGE_SHLIBDEPS ON)
# A reload is /bin/kill, which is not in a minimal system.
set(CPACK_DEBIAN_ODEON_PACKAGE_DEPENDS "systemd (>= 252), procps")
# The first line is the synopsis; cpack indents the others.
set(CPACK_DEBIAN_ODEON_DESCRIPTION "host of actors for other processes
Odeon runs message handlers, written as small shared objects, on pinned
worker threads; local processes post to them through shared memory.

This package has the service, its tool odeonctl, the library libodeon, and
odeon-exporter, which has its figures for Prometheus.")
set(CPACK_DEBIAN_ODEON_PACKAGE_CONTROL_EXTRA ${debian}/postinst ${debian}/prerm ${debian}/postrm
    ${debian}/conffiles ${debian}/triggers)
set(CPACK_DEBIAN_ODEON_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libodeon-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "odeon (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "host of actors for other processes - headers
Odeon runs message handlers, written as small shared objects, on pinned
worker threads; local processes post to them through shared memory.

This package has what is needed to write clients and plugins.")

# The changelog as Debian's tools read it: one entry, which points to the one that is written.
set(ENV{SOURCE_DATE_EPOCH} ${ODEON_SOURCE_DATE})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${debian}/changelog.template ${PROJECT_BINARY_DIR}/debian/changelog @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_BINARY_DIR}/debian/CHANGELOG.md
    COPYONLY)
find_program(GZIP gzip)
if(GZIP)
    execute_process(COMMAND ${GZIP} -9nf changelog CHANGELOG.md WORKING_DIRECTORY
        ${PROJECT_BINARY_DIR}/debian COMMAND_ERROR_IS_FATAL ANY)
endif()

install(FILES ${CMAKE_CURRENT_LIST_DIR}/odeond.conf DESTINATION /etc/odeon COMPONENT package
    EXCLUDE_FROM_ALL)
foreach(package odeon libodeon-dev)
    set(component packagedev)
    if(package STREQUAL "odeon")
        set(component package)
    endif()
    install(FILES ${debian}/copyright ${PROJECT_BINARY_DIR}/debian/changelog.gz
        ${PROJECT_BINARY_DIR}/debian/CHANGELOG.md.gz
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component}
        EXCLUDE_FROM_ALL)
    install(FILES ${debian}/${package}.lintian-overrides DESTINATION
        ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides RENAME ${package} COMPONENT ${component}
        EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
