#pragma once

// The one include of Catch2: Debian 12 ships 2.13, newer systems 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
