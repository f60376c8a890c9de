# .deb packages out of the build tree: ninja -C build package
if(NOT EXISTS /etc/os-release OR NOT EXISTS /etc/debian_version)
    return()
endif()
file(STRINGS /etc/os-release OS_LINES REGEX "^(ID|VERSION_ID)=")
string(REGEX REPLACE "[^;]*=\"?([a-z0-9.]*)\"?" "\\1" OS_LINES "${OS_LINES}")
string(REPLACE ";" "" OS_LABEL "${OS_LINES}") # debian12, ubuntu24.04
string(REGEX REPLACE "^([0-9.]+)([a-z]+)$" "\\2\\1" OS_LABEL "${OS_LABEL}")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pelton)
# Debian's policy (3.3, 5.6.2) wants a maintainer's name and an address that takes mail, of packages
# in Debian's archive. These are local packages. Who builds them for others answers for them, and
# says so as with Debian's own tools, by DEBFULLNAME and DEBEMAIL, or by PELTON_MAINTAINER. The
# project itself has no mailbox: its address ends in .invalid (RFC 2606), which nobody else can own.
set(maintainer "pelton developers <developers@pelton.invalid>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
    set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(PELTON_MAINTAINER "${maintainer}" CACHE STRING "maintainer of the .deb packages")
set(CPACK_PACKAGE_CONTACT "${PELTON_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL pelton peltond libpelton0 libpelton-dev python3-pelton)
if(TARGET pelton-web)
    list(APPEND CPACK_COMPONENTS_ALL pelton-web)
endif()
if(TARGET pelton-pipewire)
    list(APPEND CPACK_COMPONENTS_ALL pelton-pipewire)
endif()
if(TARGET gstpelton)
    list(APPEND CPACK_COMPONENTS_ALL gstreamer1.0-pelton)
endif()
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${OS_LABEL})
set(DEB_VERSION ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/deb_documents.cmake)

# libvulkan is loaded at run time, so dpkg-shlibdeps does not see it.
set(VULKAN libvulkan1)
# A container gets the small program, a machine has systemd.
set(SYSUSERS "systemd-standalone-sysusers | systemd-sysusers | systemd")
set(VULKAN_DRIVER "mesa-vulkan-drivers | vulkan-icd")

set(CPACK_DEBIAN_PELTON_PACKAGE_NAME pelton)
set(CPACK_DEBIAN_PELTON_PACKAGE_SECTION video)
set(CPACK_DEBIAN_PELTON_PACKAGE_DEPENDS "peltond (= ${DEB_VERSION}), ${VULKAN}")
set(CPACK_DEBIAN_PELTON_PACKAGE_SUGGESTS "ffmpeg")
set(CPACK_COMPONENT_PELTON_DESCRIPTION "H.264 decoding and cameras on the GPU: the command
pelton decodes H.264 in Vulkan compute shaders, without a fixed-function
video unit, and develops camera frames. This package has the command, which
decodes files, shows cameras, measures and describes the machine.")

set(CPACK_DEBIAN_PELTOND_PACKAGE_NAME peltond)
set(CPACK_DEBIAN_PELTOND_PACKAGE_SECTION video)
set(CPACK_DEBIAN_PELTOND_PACKAGE_DEPENDS
    "${VULKAN}, init-system-helpers (>= 1.54~), ${SYSUSERS}")
set(CPACK_DEBIAN_PELTOND_PACKAGE_RECOMMENDS "pelton, ${VULKAN_DRIVER}")
set(CPACK_DEBIAN_PELTOND_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/deb/peltond/conffiles
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/peltond/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/peltond/prerm ${CMAKE_CURRENT_SOURCE_DIR}/deb/peltond/postrm)
set(CPACK_COMPONENT_PELTOND_DESCRIPTION "H.264 decoding and cameras on the GPU: the service
peltond decodes H.264 and develops camera frames in Vulkan compute shaders.
Any number of programs read the frames from shared memory without a copy.
This package has the daemon, its units and its configuration.
.
Members of the group pelton may use the service.")

set(CPACK_DEBIAN_LIBPELTON0_PACKAGE_NAME libpelton0)
set(CPACK_DEBIAN_LIBPELTON0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBPELTON0_PACKAGE_SUGGESTS "peltond")
set(CPACK_DEBIAN_LIBPELTON0_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/libpelton0/triggers ${CMAKE_CURRENT_BINARY_DIR}/shlibs)
# cpack's own file would bind programs to this very version
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/shlibs
    "libpelton 0 libpelton0 (>= ${PROJECT_VERSION}~)\n")
set(CPACK_COMPONENT_LIBPELTON0_DESCRIPTION "frames from a pelton daemon, in shared memory
libpelton gives a program the frames that peltond decodes or develops.
This package has the shared library.")

set(CPACK_DEBIAN_LIBPELTON-DEV_PACKAGE_NAME libpelton-dev)
set(CPACK_DEBIAN_LIBPELTON-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBPELTON-DEV_PACKAGE_DEPENDS "libpelton0 (= ${DEB_VERSION})")
set(CPACK_DEBIAN_LIBPELTON-DEV_PACKAGE_SUGGESTS "peltond, pkg-config")
set(CPACK_COMPONENT_LIBPELTON-DEV_DESCRIPTION "frames from a pelton daemon, development files
libpelton gives a program the frames that peltond decodes or develops.
This package has the headers, a sample and the description of the protocol.")

set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_NAME python3-pelton)
set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_DEPENDS
    "python3 (>= 3.9), python3-numpy, python3-protobuf (>= 3.20)")
set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_RECOMMENDS "peltond")
set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_SUGGESTS "python3-opencv")
set(CPACK_DEBIAN_PYTHON3-PELTON_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/python3-pelton/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/python3-pelton/prerm)
set(CPACK_COMPONENT_PYTHON3-PELTON_DESCRIPTION "frames from a pelton daemon, in Python
pelton gives a program the frames that peltond decodes or develops, as
numpy arrays in shared memory. It is pure Python.")

set(CPACK_DEBIAN_PELTON-WEB_PACKAGE_NAME pelton-web)
set(CPACK_DEBIAN_PELTON-WEB_PACKAGE_SECTION video)
set(CPACK_DEBIAN_PELTON-WEB_PACKAGE_DEPENDS "init-system-helpers (>= 1.54~), ${SYSUSERS}")
set(CPACK_DEBIAN_PELTON-WEB_PACKAGE_RECOMMENDS "peltond")
set(CPACK_DEBIAN_PELTON-WEB_PACKAGE_SUGGESTS "prometheus")
set(CPACK_DEBIAN_PELTON-WEB_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/pelton-web/conffiles
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/pelton-web/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/pelton-web/prerm
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/pelton-web/postrm)
set(CPACK_COMPONENT_PELTON-WEB_DESCRIPTION "frames from a pelton daemon, over HTTP
pelton-web shows cameras and video in a browser, and gives their frames to
programs that read HTTP. It has figures and alerts for Prometheus. The service
listens at this machine alone until it has a certificate and tokens.")

set(CPACK_DEBIAN_PELTON-PIPEWIRE_PACKAGE_NAME pelton-pipewire)
set(CPACK_DEBIAN_PELTON-PIPEWIRE_PACKAGE_SECTION video)
set(CPACK_DEBIAN_PELTON-PIPEWIRE_PACKAGE_RECOMMENDS "pipewire")
set(CPACK_DEBIAN_PELTON-PIPEWIRE_PACKAGE_SUGGESTS "peltond")
set(CPACK_COMPONENT_PELTON-PIPEWIRE_DESCRIPTION "frames from a pelton daemon, in PipeWire
pelton-pipewire offers a camera or a video of peltond as a node of PipeWire,
which programs of the desktop read as they read a camera.")

set(CPACK_DEBIAN_GSTREAMER1.0-PELTON_PACKAGE_NAME gstreamer1.0-pelton)
set(CPACK_DEBIAN_GSTREAMER1.0-PELTON_PACKAGE_SECTION video)
set(CPACK_DEBIAN_GSTREAMER1.0-PELTON_PACKAGE_RECOMMENDS "peltond")
set(CPACK_COMPONENT_GSTREAMER1.0-PELTON_DESCRIPTION "frames from a pelton daemon, in GStreamer
peltonsrc gives the frames of a daemon's camera, or of a file. peltondec
decodes H.264 in a pipeline. Buffers are the daemon's memory, without a copy.")

configure_file(deb/documents.cmake.in deb_documents.cmake @ONLY)
include(CPack)
