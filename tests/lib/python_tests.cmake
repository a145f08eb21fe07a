# celld_python_tests(PREFIX [ALONE] [IN_TURN] [ENVIRONMENT NAME=VALUE ...]): adds each test_*.py beside
# the caller to ctest as "PREFIX: FILE". Each test_ method in it is a test, and its name the sentence
# that it proves. The tests share the modules in tests/lib. ALONE: nothing else runs at the same time
# as one of these files. IN_TURN: no other file of the same prefix does; these begin early, so that
# they are not the last to end. COST is about the number of seconds that a file takes: ctest begins
# with the longest.
function(celld_python_tests prefix)
  cmake_parse_arguments(ARG "ALONE;IN_TURN" "" "ENVIRONMENT" ${ARGN})
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${modules})
  set(environment CELLD_BINARY=$<TARGET_FILE:celld> CELLD_SANITIZE=${CELLD_SANITIZE}
    PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/lib PYTHONPYCACHEPREFIX=${CMAKE_BINARY_DIR}/pycache ${ARG_ENVIRONMENT})
  foreach(path ${modules})
    cmake_path(GET path STEM module)
    file(STRINGS ${path} tests REGEX "^    def test_")
    list(LENGTH tests cost)
    set(name "${prefix}: ${module}")
    add_test(NAME ${name}
      COMMAND ${Python3_EXECUTABLE} -W ignore::ResourceWarning ${CMAKE_SOURCE_DIR}/tests/lib/run_tests.py ${module}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES
      TIMEOUT ${celld_program_timeout_s} COST ${cost} ENVIRONMENT "${environment}")
    if(ARG_ALONE)
      set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    elseif(ARG_IN_TURN)
      set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${prefix} COST 100)
    endif()
  endforeach()
endfunction()
