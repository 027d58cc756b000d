#include <array>

#include "base/error.hpp"
#include "compute/model.hpp"
#include "support/catch.hpp"

using namespace stepcast;
using namespace stepcast::compute;

namespace {

/// 100 SMs, 100 TFLOP/s, 1 TB/s: times can be worked out by hand.
hardware::Accelerator device() {
  hardware::Accelerator out;
  out.name = "round";
  out.peak_fp16 = FlopRate::from_flops_per_second(100e12);
  out.peak_fp8 = FlopRate::from_flops_per_second(200e12);
  out.hbm_bandwidth = Bandwidth::from_bits_per_second(8'000'000'000'000);
  out.sm_count = 100;
  out.gemm_efficiency = 0.8;
  out.gemm_efficiency_fp8 = 0.6;
  out.gemm_wave_weight = 0.5;
  out.gemm_k_half = 512;
  out.gemm_misaligned_factor = 0.5;
  out.memory_efficiency = 0.8;
  out.attention_forward_efficiency = 0.5;
  out.attention_backward_ratio = 0.8;
  out.unfused_attention_efficiency = 0.25;
  return out;
}

Work time_of(const Kernel& kernel) {
  return make_model("roofline")->kernel(kernel, device());
}

Duration of_class(const Work& work, CostClass cost_class) {
  return work.by_class[static_cast<std::size_t>(cost_class)];
}

/// Times in double may round up to the next picosecond.
void check_ps(const Work& work, double seconds) {
  CHECK(std::abs(static_cast<double>(work.alone.ps()) - seconds * 1e12) <= 1.0);
}

}  // namespace

TEST_CASE("a GEMM counts its products and its operands") {
  const Kernel kernel = gemm(3, 5, 7, DataType::kBf16);
  CHECK(kernel.flops == 2.0 * 3 * 5 * 7);
  CHECK(kernel.bytes == 2 * (3 * 7 + 7 * 5 + 3 * 5));
  const Kernel batch = batched_gemm(4, 3, 5, 7, DataType::kFp8);
  CHECK(batch.flops == 4 * kernel.flops);
  CHECK(batch.bytes == 4 * (3 * 7 + 7 * 5 + 3 * 5));
}

TEST_CASE("a large GEMM pays for idle slots of its last wave and for its depth") {
  // m = n = 2560, k = 4608. Tiles of 256 x 128: 10 x 20 = 200 on 100 SMs, two full waves: wave = 1.
  // Tiles of 128 x 128: 400, four waves: 0.85. q = (1 - 0.5 + 0.5) * 4608/(4608+512) = 0.9.
  // t = 2 * 2560^2 * 4608 / (100e12 * 0.8 * 0.9).
  const Work work = time_of(gemm(2560, 2560, 4608, DataType::kFp16));
  check_ps(work, 2.0 * 2560 * 2560 * 4608 / (100e12 * 0.8 * 0.9));
  CHECK(of_class(work, CostClass::kGemm) == work.alone);
}

TEST_CASE("one tile too many costs a wave") {
  // m = 2816: tiles 11 x 20 = 220 in 3 waves: wave = 220/300. 128 x 128: 440 in 5 waves: 0.85 * 440/500 =
  // 0.748, the better one. q = (0.5 + 0.5 * 0.748) * 0.9 = 0.7866.
  check_ps(time_of(gemm(2816, 2560, 4608, DataType::kBf16)),
           2.0 * 2816 * 2560 * 4608 / (100e12 * 0.8 * (0.5 + 0.5 * 0.748) * 0.9));
}

TEST_CASE("columns or depth off a multiple of 64 lose the aligned rate") {
  const Work even = time_of(gemm(2560, 2560, 4608, DataType::kBf16));
  // n = 2568 = 40 * 64 + 8. The rate halves (factor 0.5) and the tiles change; k = 4610 likewise.
  CHECK(time_of(gemm(2560, 2568, 4608, DataType::kBf16)).alone > 2 * even.alone);
  CHECK(time_of(gemm(2560, 2560, 4610, DataType::kBf16)).alone > 2 * even.alone - Duration::from_ps(2));
  CHECK(time_of(gemm(2568, 2560, 4608, DataType::kBf16)).alone < 2 * even.alone);
}

TEST_CASE("a thin GEMM is bound by memory") {
  // m = 1: 2 * (4096 + 4096 * 4096 + 4096) bytes at 0.8 TB/s.
  const Work work = time_of(gemm(1, 4096, 4096, DataType::kBf16));
  check_ps(work, 2.0 * (4096.0 + 4096.0 * 4096.0 + 4096.0) / 0.8e12);
  CHECK(of_class(work, CostClass::kMemory) == work.alone);
  CHECK(of_class(work, CostClass::kGemm) == Duration());
}

TEST_CASE("fp8 has its own peak, efficiency and twice the depth to saturate") {
  // q = 4608 / (4608 + 1024) on full waves.
  check_ps(time_of(gemm(2560, 2560, 4608, DataType::kFp8)),
           2.0 * 2560 * 2560 * 4608 / (200e12 * 0.6 * (4608.0 / 5632.0)));
  hardware::Accelerator old = device();
  old.peak_fp8 = FlopRate();
  CHECK_THROWS_AS(make_model("roofline")->kernel(gemm(64, 64, 64, DataType::kFp8), old), UnsupportedError);
}

TEST_CASE("attention runs at its own efficiencies") {
  // Unfused: 25 % of the peak, whatever the shape; a head dimension off a multiple of 8 at 0.4 of that.
  const Work unfused = time_of(batched_gemm(16, 1024, 1024, 128, DataType::kBf16));
  check_ps(unfused, 2.0 * 16 * 1024 * 1024 * 128 / (100e12 * 0.25));
  CHECK(of_class(unfused, CostClass::kAttention) == unfused.alone);
  check_ps(time_of(batched_gemm(16, 1024, 1024, 100, DataType::kBf16)),
           2.0 * 16 * 1024 * 1024 * 100 / (100e12 * 0.25 * 0.4));
  // Flash: 200 tiles are 2 per SM: forward 2/(2+2) of 0.5, backward 2/(2+0.5) of 0.5 * 0.8.
  Kernel flash;
  flash.kind = KernelKind::kFlashForward;
  flash.flops = 1e9;
  flash.tiles = 200;
  check_ps(time_of(flash), 1e9 / (100e12 * 0.5 * 0.5));
  flash.kind = KernelKind::kFlashBackward;
  check_ps(time_of(flash), 1e9 / (100e12 * 0.5 * 0.8 * 0.8));
}

TEST_CASE("element-wise kernels move bytes and fixed ones only take time") {
  check_ps(time_of(elementwise(8e6)), 10e-6);
  Kernel fixed;
  fixed.kind = KernelKind::kFixed;
  fixed.bytes = 12'345;
  const Work work = time_of(fixed);
  CHECK(work.alone == Duration::from_ps(12'345));
  CHECK(of_class(work, CostClass::kFixed) == work.alone);
  CHECK(work.hbm_bytes == 0);
}

TEST_CASE("a sequence takes its GPU times or its launches, whichever is longer") {
  // Three kernels of 10 us: 30 us on the GPU. Launches of 4 us stay hidden, of 15 us take 45 us.
  const std::array<Kernel, 3> kernels = {elementwise(8e6), elementwise(8e6), elementwise(8e6)};
  hardware::Accelerator fast = device();
  fast.launch_per_kernel = Duration::from_ps(4'000'000);
  const Work hidden = make_model("roofline")->sequence(kernels, fast);
  CHECK(std::abs(hidden.alone.ps() - 30'000'000) <= 3);
  CHECK(of_class(hidden, CostClass::kLaunch) == Duration());
  hardware::Accelerator slow = device();
  slow.launch_per_kernel = Duration::from_ps(15'000'000);
  const Work bound = make_model("roofline")->sequence(kernels, slow);
  CHECK(bound.alone == Duration::from_ps(45'000'000));
  CHECK(of_class(bound, CostClass::kMemory) == hidden.alone);
  CHECK(of_class(bound, CostClass::kLaunch) == bound.alone - hidden.alone);
  CHECK(bound.hbm_bytes == 24e6);
}

TEST_CASE("the classes of every kernel sum to its time") {
  const std::array<Kernel, 4> kernels = {gemm(512, 512, 512, DataType::kBf16),
                                         batched_gemm(2, 64, 64, 64, DataType::kBf16), elementwise(1000),
                                         gemm(1, 64, 4096, DataType::kBf16)};
  for (const ModelEntry& entry : models()) {
    CAPTURE(entry.name);
    hardware::Accelerator slow = device();
    slow.launch_per_kernel = Duration::from_ps(7'000'001);
    const Work work = make_model(entry.name)->sequence(kernels, slow);
    Duration sum;
    for (const Duration part : work.by_class) {
      sum += part;
    }
    CHECK(sum == work.alone);
  }
}

TEST_CASE("an unknown compute model is refused with a suggestion") {
  CHECK_THROWS_WITH(make_model("rofline"), "unknown compute model \"rofline\"; did you mean \"roofline\"?");
}

TEST_CASE("a kernel beyond the simulated range is refused, not overflowed") {
  CHECK_THROWS_AS(time_of(elementwise(8e18)), UnsupportedError);
}

TEST_CASE("kernels that are in range one by one and not together are refused") {
  const auto model = make_model("roofline");
  // 2,000 h + 600 h = 9.36e18 ps; int64 ends at 9.22e18.
  Kernel hours;
  hours.kind = KernelKind::kFixed;
  hours.bytes = std::int64_t{2000} * 3600 * 1'000'000'000'000;
  Kernel more = hours;
  more.bytes = std::int64_t{600} * 3600 * 1'000'000'000'000;
  CHECK_THROWS_AS(model->sequence(std::array{hours, more}, device()), UnsupportedError);
  CHECK(model->sequence(std::array{hours}, device()).alone.ps() == hours.bytes);
}

TEST_CASE("bytes beyond int64 are refused, not overflowed") {
  // 2 x 4e9 x 2e9 + 4e9^2 elements of 2 bytes: 6.4e19.
  const Kernel large = gemm(4'000'000'000, 4'000'000'000, 2'000'000'000, DataType::kBf16);
  CHECK(large.bytes == kTooManyBytes);
  CHECK(elementwise(1e30).bytes == kTooManyBytes);
  CHECK_THROWS_AS(make_model("roofline")->sequence(std::array{elementwise(1e30)}, device()),
                  UnsupportedError);
}

TEST_CASE("flash attention takes the longer of its arithmetic and its traffic") {
  Kernel flash;
  flash.kind = KernelKind::kFlashForward;
  flash.flops = 50e9;         // 1 ms at 50 TFLOP/s
  flash.bytes = 400'000'000;  // 0.5 ms at 0.8 TB/s
  check_ps(time_of(flash), 1e-3);
  flash.bytes = 1'600'000'000;  // 2 ms
  check_ps(time_of(flash), 2e-3);
  CHECK(of_class(time_of(flash), CostClass::kMemory) == time_of(flash).alone);
}
