# The interpreter that runs the tests. Debian's own is preferred: hundreds of tests start one, and
# the `python3` of a version manager such as pyenv starts a shell each time.
find_program(CELLD_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
mark_as_advanced(CELLD_PYTHON)
if(CELLD_PYTHON)
  set(Python3_EXECUTABLE ${CELLD_PYTHON})
endif()
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
