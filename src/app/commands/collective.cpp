#include <charconv>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "config/data_path.hpp"
#include "config/quantity.hpp"
#include "network/model.hpp"
#include "replay/collective_run.hpp"
#include "replay/step_input.hpp"
#include "report/collective_table.hpp"
#include "routing/router.hpp"

namespace stepcast::app {
namespace {

struct CollectiveArguments {
  std::string kind;
  std::string cluster;
  std::string min_bytes = "32M";
  std::string max_bytes = "32M";
  std::string step_factor;
  std::string step_bytes = "1M";
  std::string dtype = "float";
  std::string algorithm;
  std::string protocol;
  std::uint64_t channels = 0;  // 0 = by the host kind
  CommonOptions common;
};

Bytes size_of(const std::string& flag, const std::string& text) {
  const config::Parsed<Bytes> parsed = config::parse_nccl_size(text);
  if (!parsed.value) {
    throw InputError(fmt::format("{} {}: {}; {}", flag, text, parsed.problem, parsed.remedy));
  }
  return *parsed.value;
}

DataType dtype_of(const std::string& name) {
  static const std::vector<std::pair<std::string, DataType>> types{
      {"int8", DataType::kInt8},    {"uint8", DataType::kInt8},    {"half", DataType::kFp16},
      {"fp16", DataType::kFp16},    {"bfloat16", DataType::kBf16}, {"bf16", DataType::kBf16},
      {"float", DataType::kFp32},   {"fp32", DataType::kFp32},     {"double", DataType::kFp64},
      {"int32", DataType::kInt32},  {"uint32", DataType::kInt32},  {"int64", DataType::kInt64},
      {"uint64", DataType::kInt64}, {"f8e4m3", DataType::kFp8},    {"f8e5m2", DataType::kFp8}};
  std::vector<std::string> names;
  for (const auto& [known, type] : types) {
    if (known == name) {
      return type;
    }
    names.push_back(known);
  }
  throw InputError(fmt::format("-d {}: unknown element type; {}", name, suggest(name, names)));
}

collective::Kind kind_of(const std::string& name) {
  const std::vector<std::string>& names = collective::kind_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<collective::Kind>(i);
    }
  }
  throw InputError(fmt::format("unknown collective \"{}\"; {}", name, suggest(name, names)));
}

std::optional<collective::Protocol> protocol_of(const std::string& name) {
  if (name.empty()) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const auto protocol :
       {collective::Protocol::kLl, collective::Protocol::kLl128, collective::Protocol::kSimple}) {
    if (name == collective::name_of(protocol)) {
      return protocol;
    }
    names.emplace_back(collective::name_of(protocol));
  }
  throw InputError(fmt::format("--proto {}: unknown protocol; {}", name, suggest(name, names)));
}

/// A whole number of at least 2: nccl-tests reads the factor with strtol, and 1 or less would not grow.
std::int64_t factor_of(const std::string& text) {
  std::int64_t factor = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc{} || stop != end || factor < 2) {
    throw InputError(
        fmt::format("-f {}: not a whole number of at least 2; write for example -f 2, or step "
                    "with -i 1M",
                    text));
  }
  return factor;
}

/// Sizes from -b to -e by -f or -i, as nccl-tests steps them.
std::vector<Bytes> sizes_of(const CollectiveArguments& arguments, std::string& step) {
  const Bytes first = size_of("-b", arguments.min_bytes);
  const Bytes last = size_of("-e", arguments.max_bytes);
  if (last < first) {
    throw InputError(fmt::format("-e {} is below -b {}; give the larger size with -e", arguments.max_bytes,
                                 arguments.min_bytes));
  }
  constexpr std::size_t kMostSizes = 10'000;
  std::vector<Bytes> sizes;
  std::int64_t factor = 0;
  std::int64_t increment = 0;
  if (!arguments.step_factor.empty()) {
    factor = factor_of(arguments.step_factor);
    step = fmt::format("{}(factor)", factor);
    if (first.count() == 0 && last.count() > 0) {
      throw InputError(
          fmt::format("-b {} with -f {}: zero times a factor stays zero; begin with -b 8, or step with -i",
                      arguments.min_bytes, arguments.step_factor));
    }
  } else {
    increment = size_of("-i", arguments.step_bytes).count();
    if (increment < 1) {
      throw InputError(fmt::format("-i {}: an increment of 0 never reaches the last size; write -i 1M",
                                   arguments.step_bytes));
    }
    step = fmt::format("{}(bytes)", increment);
  }
  std::int64_t bytes = first.count();
  while (true) {
    sizes.emplace_back(bytes);
    if (sizes.size() > kMostSizes) {
      throw InputError(fmt::format("more than {} sizes between {} and {}; use a larger -i or -f 2",
                                   kMostSizes, arguments.min_bytes, arguments.max_bytes));
    }
    const bool beyond =
        factor > 0 ? bytes == 0 || bytes > last.count() / factor : increment > last.count() - bytes;
    if (beyond) {
      return sizes;
    }
    bytes = factor > 0 ? bytes * factor : bytes + increment;
  }
}

/// As nccl-tests: a size holds whole elements, and the same number for each rank where ranks share it.
std::vector<Bytes> whole_elements(const std::vector<Bytes>& sizes,
                                  collective::Kind kind,
                                  DataType dtype,
                                  std::uint32_t ranks) {
  const std::int64_t piece =
      element_bytes(dtype) * (collective::cuts_by_member(kind) ? std::int64_t{ranks} : 1);
  std::vector<Bytes> whole;
  for (const Bytes size : sizes) {
    whole.emplace_back(size.count() / piece * piece);
  }
  return whole;
}

void run(const CollectiveArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  network::require_available(arguments.common.fidelity);
  const std::vector<std::string> formats{"text", "json", "csv"};
  if (std::find(formats.begin(), formats.end(), arguments.common.format) == formats.end()) {
    throw InputError(fmt::format("unknown format \"{}\"; {}", arguments.common.format,
                                 suggest(arguments.common.format, formats)));
  }
  report::CollectiveSweep sweep;
  sweep.kind = kind_of(arguments.kind);
  sweep.dtype = dtype_of(arguments.dtype);
  const std::vector<Bytes> wanted = sizes_of(arguments, sweep.step);
  collective::Request request;
  request.kind = sweep.kind;
  request.dtype = sweep.dtype;
  request.algorithm = arguments.algorithm;
  request.protocol = protocol_of(arguments.protocol);
  request.channels = static_cast<std::uint32_t>(arguments.channels);
  const bool steps = steps_wanted(arguments.common);
  check_outputs(arguments.common, {config::find_data("topologies", arguments.cluster).path});

  const topology::Cluster cluster =
      replay::load_cluster(arguments.cluster, arguments.common.settings, arguments.common.ranks);
  const replay::RankChoice choice = replay::choose_ranks(cluster, arguments.common.ranks);
  std::vector<GpuId> group;
  for (std::uint32_t rank = 0; rank < choice.ranks; ++rank) {
    group.emplace_back(choice.gpus.empty() ? rank : choice.gpus[rank]);
  }
  const std::vector<Bytes> sizes = whole_elements(wanted, sweep.kind, sweep.dtype, choice.ranks);
  const routing::Router router(cluster, arguments.common.routing, arguments.common.seed);
  sweep.ranks = choice.ranks;
  sweep.cluster = cluster.name;
  sweep.accelerator = cluster.host.accelerator.name;
  const auto times = replay::run_collectives(router, request, sizes, group,
                                             steps ? collective::Form::kSteps : collective::Form::kCoupled,
                                             arguments.common.fidelity);
  for (const replay::CollectiveTime& time : times) {
    sweep.rows.push_back({time.bytes, time.time.seconds(), time.algorithm,
                          std::string(collective::name_of(time.protocol)), time.channels});
  }
  const std::string& format = arguments.common.format;
  deliver(format == "json"  ? report::collective_json(sweep)
          : format == "csv" ? report::collective_csv(sweep)
                            : report::collective_table(sweep),
          arguments.common);
  if (arguments.common.profile) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    fmt::print(stderr, "profile: {:.3f} s in all, {} sizes on {} ranks\n", elapsed.count(), sizes.size(),
               choice.ranks);
  }
}

}  // namespace

void add_collective(CLI::App& app, int& /*exit_code*/) {
  auto arguments = std::make_shared<CollectiveArguments>();
  CLI::App* command =
      app.add_subcommand("collective", "time one collective over sizes, as nccl-tests prints it");
  command->add_option("kind", arguments->kind, fmt::format("{}", fmt::join(collective::kind_names(), "|")))
      ->required();
  command->add_option("cluster", arguments->cluster, "cluster file or shipped name")->required();
  command
      ->add_option("-b,--minbytes", arguments->min_bytes,
                   "smallest size, K M G are binary; sizes are cut to whole elements, as in nccl-tests")
      ->capture_default_str();
  command->add_option("-e,--maxbytes", arguments->max_bytes, "largest size")->capture_default_str();
  command->add_option("-f,--stepfactor", arguments->step_factor, "multiply the size by this whole number");
  command->add_option("-i,--stepbytes", arguments->step_bytes, "or add this many bytes")
      ->capture_default_str();
  command->add_option("-d,--datatype", arguments->dtype, "element type")->capture_default_str();
  command->add_option("--algo", arguments->algorithm, "algorithm family or leaf (stepcast list algorithms)");
  command->add_option("--proto", arguments->protocol, "LL|LL128|Simple (default: the fastest)");
  add_whole(*command, "--channels", arguments->channels, 1, collective::kMostChannels,
            "channels (default: by the host kind)");
  add_run_options(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|csv");
  command->footer("Example: stepcast collective all_reduce dgx-h100-1024 --ranks 8 -b 8 -e 8G -f 2");
  command->callback([arguments]() { run(*arguments); });
}

}  // namespace stepcast::app
