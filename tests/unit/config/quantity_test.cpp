#include "config/quantity.hpp"

#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::config;

TEST_CASE("sizes: powers of 1000 and of 1024, exact") {
  const auto [text, bytes] = GENERATE(table<std::string, std::int64_t>({
      {"0 B", 0},
      {"1B", 1},
      {"1.5 KB", 1'500},
      {"2.5 GB", 2'500'000'000},
      {"4 TB", 4'000'000'000'000},
      {"3 PB", 3'000'000'000'000'000},
      {"80 GiB", 85'899'345'920},        // 80 * 2^30
      {"0.5\tKiB", 512},                 // a tab is a blank
      {"1.5 MiB", 1'572'864},            // 1.5 * 2^20
      {"2 TiB", 2'199'023'255'552},      // 2^41
      {"1 PiB", 1'125'899'906'842'624},  // 2^50
      {"1e3 MB", 1'000'000'000},
      {"1E-3 GB", 1'000'000},
      {"2.5 B", 3},  // half up
      {"2.49 B", 2},
      {"9223372036854775807 B", INT64_MAX},
      {"9223.372036854775807 PB", INT64_MAX},
      {"000000000000000000000000000000001 B", 1},
      {"1.000000000000000000000000000000000000 B", 1},
  }));
  CAPTURE(text);
  REQUIRE(parse_bytes(text).value);
  CHECK(parse_bytes(text).value->count() == bytes);
}

TEST_CASE("rates: b is a bit, B is a byte, prefixes are powers of 1000") {
  const auto [text, bits] = GENERATE(table<std::string, std::int64_t>({
      {"400 Gb/s", 400'000'000'000},
      {"400Gb/s", 400'000'000'000},
      {"50 GB/s", 400'000'000'000},       // 50e9 * 8
      {"3.35 TB/s", 26'800'000'000'000},  // 3.35e12 * 8
      {"1.6 Tb/s", 1'600'000'000'000},
      {"9.6 kb/s", 9'600},
      {"10 Mb/s", 10'000'000},
      {"1 kB/s", 8'000},
      {"1 MB/s", 8'000'000},
      {"7 b/s", 7},
      {"1 B/s", 8},
      {"0 Gb/s", 0},
  }));
  CAPTURE(text);
  REQUIRE(parse_bandwidth(text).value);
  CHECK(parse_bandwidth(text).value->bits_per_second() == bits);
}

TEST_CASE("durations in picoseconds, exact in decimal") {
  const auto [text, ps] = GENERATE(table<std::string, std::int64_t>({
      {"0.1 us", 100'000},  // 0.1 has no exact binary form
      {"1.9 us", 1'900'000},
      {"500 ns", 500'000},
      {"7 ps", 7},
      {"0.3 ms", 300'000'000},
      {"1 s", 1'000'000'000'000},
      {"2 min", 120'000'000'000'000},
      {"1.5 h", 5'400'000'000'000'000},  // 5400 s
      {"0 s", 0},
      {"-0 s", 0},
  }));
  CAPTURE(text);
  REQUIRE(parse_duration(text).value);
  CHECK(parse_duration(text).value->ps() == ps);
}

TEST_CASE("arithmetic rates") {
  CHECK(parse_flop_rate("312 TFLOP/s").value == FlopRate::from_flops_per_second(3.12e14));
  CHECK(parse_flop_rate("989.4 TFLOP/s").value == FlopRate::from_flops_per_second(9.894e14));
  CHECK(parse_flop_rate("19.5 GFLOP/s").value == FlopRate::from_flops_per_second(1.95e10));
  CHECK(parse_flop_rate("1.979 PFLOP/s").value == FlopRate::from_flops_per_second(1.979e15));
  CHECK(parse_flop_rate("3 FLOP/s").value == FlopRate::from_flops_per_second(3));
}

TEST_CASE("sizes of nccl-tests are powers of 1024") {
  const auto [text, bytes] = GENERATE(table<std::string, std::int64_t>({
      {"8", 8},
      {"64K", 65'536},
      {"64k", 65'536},
      {"1M", 1'048'576},
      {"8G", 8'589'934'592},
      {"1.5M", 1'572'864},
      {"8GiB", 8'589'934'592},
      {"1 MB", 1'000'000},
  }));
  CAPTURE(text);
  REQUIRE(parse_nccl_size(text).value);
  CHECK(parse_nccl_size(text).value->count() == bytes);
  CHECK(parse_nccl_size("8X").problem == "unknown unit \"X\" in \"8X\"");
  CHECK(parse_nccl_size("8X").remedy == "write a size such as 8, 64K, 1M or 8G (powers of 1024), or 8GiB");
  CHECK(parse_nccl_size("").problem == "no number in \"\"");
}

TEST_CASE("a rate that is not one is refused with what to write") {
  const std::string example = "write for example \"400 Gb/s\" or \"50 GB/s\"";
  const std::string units = "write Gb/s (bits) or GB/s (bytes)";
  const auto [text, problem, remedy] = GENERATE_COPY(table<std::string, std::string, std::string>({
      {"50 GBs", "unknown unit \"GBs\" in \"50 GBs\"", units},
      {"50 gb/s", "unknown unit \"gb/s\" in \"50 gb/s\"", units},
      {"50 GB/s ", "unknown unit \"GB/s \" in \"50 GB/s \"", units},
      {"1. Gb/s", "unknown unit \". Gb/s\" in \"1. Gb/s\"", units},
      {"50", "\"50\" needs a unit", example},
      {"50 ", "\"50 \" needs a unit", example},
      {"", "no number in \"\"", example},
      {"GB/s", "no number in \"GB/s\"", example},
      {" 5 GB/s", "no number in \" 5 GB/s\"", example},
      {"+5 GB/s", "no number in \"+5 GB/s\"", example},
      {"inf GB/s", "no number in \"inf GB/s\"", example},
      {"nan", "no number in \"nan\"", example},
      {"-5 GB/s", "\"-5 GB/s\" is negative", "write zero or more"},
      {"1e30 GB/s", "\"1e30 GB/s\" does not fit", "write at most 9.2e+18 b/s"},
      {"9223372036854775808 b/s", "\"9223372036854775808 b/s\" does not fit", "write at most 9.2e+18 b/s"},
      {"9223372036854775807.5 b/s", "\"9223372036854775807.5 b/s\" does not fit",
       "write at most 9.2e+18 b/s"},
      {"1e999999999999 b/s", "\"1e999999999999 b/s\" does not fit", "write at most 9.2e+18 b/s"},
      {"0.4 b/s", "\"0.4 b/s\" rounds to zero", "write 0 or at least 1 b/s"},
      {"1e-999999999999 b/s", "\"1e-999999999999 b/s\" rounds to zero", "write 0 or at least 1 b/s"},
  }));
  const auto parsed = parse_bandwidth(text);
  CAPTURE(text);
  CHECK_FALSE(parsed.value);
  CHECK(parsed.problem == problem);
  CHECK(parsed.remedy == remedy);
}

TEST_CASE("the other units are named when one is unknown") {
  CHECK(parse_bytes("8 Gb").remedy ==
        "write B, KB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB (of 1024)");
  CHECK(parse_duration("5 sec").remedy == "write ps, ns, us, ms, s, min or h");
  CHECK(parse_flop_rate("5 TFLOPS").remedy == "write FLOP/s, GFLOP/s, TFLOP/s or PFLOP/s");
}

TEST_CASE("long and binary text is quoted short") {
  CHECK(parse_bytes("5 \x01\n\xFF").problem == "unknown unit \"\\x01\\n\\xff\" in \"5 \\x01\\n\\xff\"");
  CHECK(parse_bytes(std::string(100, 'x')).problem == "no number in \"" + std::string(40, 'x') + "...\"");
}
