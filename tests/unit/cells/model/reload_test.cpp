#include "cells/model/reload.hpp"

#include "tests/unit/catch.hpp"

using cells::ReloadCourse;
using cells::ReloadState;

TEST_CASE("a reload that removes no service cannot be refused") {
  ReloadCourse course{false};
  CHECK(course.state() == ReloadState::configuring);
  CHECK(course.is_decided());
}

TEST_CASE("a reload waits for every cell before the store counts") {
  ReloadCourse course{true};
  CHECK(course.state() == ReloadState::storing);
  course.cells_asked(2);
  course.cell_answered();
  CHECK(course.state() == ReloadState::storing);
  CHECK_FALSE(course.is_decided());
  course.cell_answered();
  CHECK(course.state() == ReloadState::counting);
  CHECK_FALSE(course.is_decided());
}

TEST_CASE("a service that jobs need refuses the reload, and one that none needs does not") {
  ReloadCourse course{true};
  course.cells_asked(0);
  CHECK(course.state() == ReloadState::counting);
  SECTION("needed") {
    course.needs_counted(true);
    CHECK(course.state() == ReloadState::refused);
  }
  SECTION("not needed") {
    course.needs_counted(false);
    CHECK(course.state() == ReloadState::configuring);
    CHECK(course.is_decided());
  }
}

TEST_CASE("jobs move once every cell has its settings, and then the reload is complete") {
  ReloadCourse course{false};
  course.cells_asked(1);
  CHECK(course.state() == ReloadState::configuring);
  course.cell_answered();
  CHECK(course.state() == ReloadState::moving);
  course.jobs_moved();
  CHECK(course.state() == ReloadState::completed);
  CHECK(course.is_decided());
}

TEST_CASE("a reload without cells goes straight to moving jobs") {
  ReloadCourse course{false};
  course.cells_asked(0);
  CHECK(course.state() == ReloadState::moving);
}
