# What `cmake --install` puts where.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS pipec EXPORT pipec-targets DESTINATION ${CMAKE_INSTALL_BINDIR})
if(PIPEC_BUILD_RUNNER)
  install(TARGETS pipec-run DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/pipec)
install(EXPORT pipec-targets NAMESPACE pipec:: DESTINATION ${package_directory})
write_basic_package_version_file(pipec-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/pipec-config.cmake cmake/pipec-library.cmake ${PROJECT_BINARY_DIR}/pipec-config-version.cmake
        DESTINATION ${package_directory})

# The package is pure Python. Debian's Python looks for it in dist-packages, others in site-packages.
find_program(PIPEC_PYTHON python3 HINTS /usr/bin)
if(NOT PIPEC_PYTHON_DIR AND PIPEC_PYTHON)
  execute_process(
    COMMAND ${PIPEC_PYTHON} -c "import os, sys, sysconfig; print('lib/python%d.%d/' % sys.version_info[:2] + os.path.basename(sysconfig.get_path('purelib')))"
    OUTPUT_VARIABLE python_directory OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(PIPEC_PYTHON_DIR "${python_directory}" CACHE STRING "Where the Python package goes, below the prefix; empty: nowhere")
if(PIPEC_PYTHON_DIR)
  install(DIRECTORY python/pipec DESTINATION ${PIPEC_PYTHON_DIR} PATTERN __pycache__ EXCLUDE)
endif()

install(FILES docs/pipec.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Where the three shells look. Debian's zsh has a folder for packages, below /usr, and another one below /usr/local.
set(completions ${PROJECT_BINARY_DIR}/completions)
install(FILES ${completions}/bash RENAME pipec DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
foreach(folder site-functions vendor-completions)
  install(FILES ${completions}/zsh RENAME _pipec DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder})
endforeach()
install(FILES ${completions}/fish RENAME pipec.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# The examples are there to be built (make -C share/pipec/examples OUT=...), the standard library and the GPUs to be
# read.
install(DIRECTORY cpus examples gpus stdlib DESTINATION ${CMAKE_INSTALL_DATADIR}/pipec PATTERN "build" EXCLUDE)
install(DIRECTORY editors/vscode editors/vim DESTINATION ${CMAKE_INSTALL_DATADIR}/pipec/editors
        PATTERN node_modules EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "*.jpg" PATTERN "*.svg" PATTERN "*.jsonl" PATTERN "*.pipe")
# Links between pages, as the files lie in the installation.
install(CODE "
  set(source \"${PROJECT_SOURCE_DIR}\")
  set(docs \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")
  set(data \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/pipec\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/InstalledLinks.cmake\")")
