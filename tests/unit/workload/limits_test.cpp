#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compute/model.hpp"
#include "job_fixture.hpp"
#include "replay/compiled.hpp"
#include "support/catch.hpp"
#include "workload/generate.hpp"
#include "workload/memory.hpp"

using namespace stepcast;
using namespace stepcast::workload;
using stepcast::workload::testing::job_of;
using stepcast::workload::testing::round_device;

TEST_CASE("no job at the limits of its fields is our defect: it runs, or is refused with a place") {
  // Every field at its upper limit, alone and in pairs, on a base that runs. What is accepted must be
  // countable: its programs are generated, and priced kernel by kernel.
  const std::vector<std::pair<std::string, std::string>> limits = {
      {"layers", "100000"},          {"hidden", "4194304"},     {"heads", "65536"},
      {"head_dim", "4194304"},       {"ffn_hidden", "4194304"}, {"vocab", "268435456"},
      {"kv_heads", "65536"},         {"sequence", "16777216"},  {"micro_batch", "4096"},
      {"global_batch", "1000000000"}};
  const auto job_text = [&](std::size_t a, std::size_t b, const std::string& attention) {
    std::map<std::string, std::string> values = {
        {"layers", "2"},      {"hidden", "1024"},      {"heads", "8"},    {"head_dim", "128"},
        {"vocab", "1024"},    {"ffn_hidden", "4096"},  {"kv_heads", "8"}, {"sequence", "1024"},
        {"micro_batch", "1"}, {"global_batch", "4096"}};
    values[limits[a].first] = limits[a].second;
    values[limits[b].first] = limits[b].second;
    if (values["kv_heads"] == "65536") {
      values["heads"] = "65536";  // as many query heads at least
    }
    const auto member = [&](const std::string& key) { return "\"" + key + "\": " + values[key]; };
    std::string model;
    for (const char* key : {"layers", "hidden", "heads", "head_dim", "ffn_hidden", "kv_heads"}) {
      model += member(key) + ", ";
    }
    return "{\"model\": {" + model + member("vocab") + "}, " + member("sequence") + ", " +
           member("micro_batch") + ", " + member("global_batch") + ", \"attention\": \"" + attention + "\"}";
  };
  const auto device = round_device();
  const auto model = compute::make_model("roofline");
  std::size_t refused = 0;
  for (std::size_t a = 0; a < limits.size(); ++a) {
    for (std::size_t b = a; b < limits.size(); ++b) {
      for (const char* attention : {"flash", "unfused"}) {
        CAPTURE(limits[a].first, limits[b].first, attention);
        try {
          const Job job = job_of(job_text(a, b, attention), 1);
          const program::Programs programs = generate(job, device);
          (void)memory(job);
          for (const program::Program& program : programs.programs) {
            (void)replay::compile(program, *model, device);
          }
        } catch (const InputError& error) {
          ++refused;
          CHECK(std::string(error.what()).find("job.json:1:") == 0);
        } catch (const UnsupportedError& error) {
          ++refused;
          CHECK(std::string(error.what()).find("job.json:1:") == 0);
        }
      }
    }
  }
  CHECK(refused > 10);
  CHECK(refused < 2 * 55);
}

TEST_CASE("dropout beside the residuals costs the time of its masks, with flash attention too") {
  // Tables hold each kernel sequence once: two norm and residual pairs of a layer forward and two backward,
  // one each of the head. Each pair moves a mask of 1 byte for each of 128 x 256 elements.
  const auto bytes = [](const std::string& more) {
    testing::Gpt gpt;
    gpt.more = more;
    const program::Programs programs = generate(job_of(testing::text_of(gpt), 1), round_device());
    std::int64_t sum = 0;
    for (const compute::Kernel& kernel : programs.programs.front().kernels) {
      sum += kernel.kind == compute::KernelKind::kElementwise ? kernel.bytes : 0;
    }
    return sum;
  };
  CHECK(bytes(R"(, "dropout": 0.1)") - bytes("") == 6 * 128 * 256);
}
