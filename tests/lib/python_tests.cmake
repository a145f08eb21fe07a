# Only tests that hang reach this: a busy machine may take ten times as long as an idle one.
set(celld_python_timeout_s 1200)
if(CELLD_SANITIZE)
  set(celld_python_timeout_s 3600)
endif()

# celld_python_tests(PREFIX [ALONE CLASS ...] [IN_TURN] [ENVIRONMENT NAME=VALUE ...]): makes a test of
# ctest of each class in each test_*.py beside the caller. Its name is "PREFIX: FILE.CLASS", its label
# FILE. The method names are the sentences that the tests prove. The tests share the modules in
# tests/lib. ALONE: no other test runs at the same time as these classes. IN_TURN: none of the same
# prefix does; these begin early, so that they are not what the others end with. COST is about the
# number of seconds that a test takes: ctest begins with the longest.
function(celld_python_tests prefix)
  cmake_parse_arguments(ARG "IN_TURN" "" "ALONE;ENVIRONMENT" ${ARGN})
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${modules})
  set(environment CELLD_BINARY=$<TARGET_FILE:celld> CELLD_SANITIZE=${CELLD_SANITIZE}
    PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/lib PYTHONPYCACHEPREFIX=${CMAKE_BINARY_DIR}/pycache ${ARG_ENVIRONMENT})
  foreach(path ${modules})
    cmake_path(GET path STEM module)
    file(STRINGS ${path} lines REGEX "^class |^    def test_")
    set(class "")
    set(tests 0)
    foreach(line ${lines} "class ")  # The last line ends the last class.
      if(line MATCHES "def test_")
        math(EXPR tests "${tests} + 1")
        continue()
      endif()
      if(tests GREATER 0)
        set(name "${prefix}: ${module}.${class}")
        add_test(NAME ${name}
          COMMAND ${Python3_EXECUTABLE} -W ignore::ResourceWarning ${CMAKE_SOURCE_DIR}/tests/lib/run_class.py ${module}.${class}
          WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        set_tests_properties(${name} PROPERTIES TIMEOUT ${celld_python_timeout_s} COST ${tests}
          ENVIRONMENT "${environment}" LABELS ${module})
        if(class IN_LIST ARG_ALONE)
          set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
        elseif(ARG_IN_TURN)
          set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${prefix} COST 100)
        endif()
      endif()
      string(REGEX REPLACE "^class ([A-Za-z0-9]*).*" "\\1" class "${line}")
      set(tests 0)
    endforeach()
  endforeach()
endfunction()
