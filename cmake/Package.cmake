# `cpack` in the build folder: a Debian package, and an archive of the same files. `make deb` builds what goes into it.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME pipec)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for image pipelines, to CUDA and C++")
set(CPACK_PACKAGE_DESCRIPTION
    "A program says what every pixel is; pipec finds out what has to be computed where, proves that no access is out of
 bounds, and writes CUDA or C++. With pipec-run, which reads and writes images, a Python package, CMake files, the
 manual and files for editors.")
set(CPACK_PACKAGE_CONTACT "the maintainers of pipec <maintainers@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# A C++ compiler makes the code run; all else is for those who have it.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy, python3-dask, nvidia-cuda-toolkit, cmake")
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
