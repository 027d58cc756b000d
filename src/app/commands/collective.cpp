#include "collective/collective.hpp"

#include <charconv>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/suggestion.hpp"
#include "collective/nccl/choice.hpp"
#include "collective/schedule_file.hpp"
#include "config/data_path.hpp"
#include "config/quantity.hpp"
#include "network/model.hpp"
#include "placement/placement.hpp"
#include "replay/collective_run.hpp"
#include "replay/step_input.hpp"
#include "report/collective_plot.hpp"
#include "report/collective_table.hpp"
#include "report/output_file.hpp"
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
  std::string reduction = "sum";
  std::uint64_t root = 0;
  std::uint64_t iterations = 20;
  std::uint64_t warmup = 1;
  std::uint64_t gpus = 0;  // 0 = not given
  std::string splits;
  bool sizes_given = false;  // -b or -e
  std::vector<std::string> also;
  bool explain = false;
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
  if (const auto protocol = collective::find_protocol(name)) {
    return protocol;
  }
  throw InputError(
      fmt::format("--proto {}: unknown protocol; {}", name, suggest(name, collective::protocol_names())));
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
  whole.reserve(sizes.size());
  for (const Bytes size : sizes) {
    whole.emplace_back(size.count() / piece * piece);
  }
  return whole;
}

/// KIND:GROUP:BYTES[@START], GROUP as in --ranks.
struct Also {
  std::string text;
  std::string group;
  replay::OtherCollective collective;
};

Also also_of(const std::string& text, DataType dtype) {
  const auto refuse = [&text](const std::string& problem) {
    throw InputError(
        fmt::format("--also {}: {}; write KIND:GROUP:BYTES[@START], for example all_reduce:8-15:64M@10us",
                    text, problem));
  };
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos) {
    refuse("not of three parts");
  }
  Also also;
  also.text = text;
  also.group = text.substr(first + 1, second - first - 1);
  if (also.group.empty()) {
    refuse("no group");
  }
  const std::string kind = text.substr(0, first);
  std::string bytes = text.substr(second + 1);
  if (const std::size_t at = bytes.find('@'); at != std::string::npos) {
    const config::Parsed<Duration> start = config::parse_duration(bytes.substr(at + 1));
    if (!start.value || *start.value < Duration{}) {
      refuse(fmt::format("\"{}\" is no start time", bytes.substr(at + 1)));
    }
    also.collective.start = *start.value;
    bytes.resize(at);
  }
  const config::Parsed<Bytes> size = config::parse_nccl_size(bytes);
  if (!size.value) {
    refuse(fmt::format("\"{}\": {}", bytes, size.problem));
  }
  also.collective.request.kind = kind_of(kind);
  also.collective.request.bytes = *size.value;
  also.collective.request.dtype = dtype;
  return also;
}

/// The step list that --algo names, as in dump schedule: no algorithm is named like a path.
std::optional<collective::ScheduleFile> step_list_of(const CollectiveArguments& arguments,
                                                     collective::Kind kind) {
  if (arguments.algorithm.find_first_of("./") == std::string::npos) {
    return std::nullopt;
  }
  collective::ScheduleFile file = collective::load_schedule(arguments.algorithm);
  const collective::Schedule& schedule = file.schedule;
  if (schedule.kind != kind) {
    throw InputError(fmt::format("{}: a step list of {}, not of {}; write stepcast collective {}",
                                 arguments.algorithm, collective::name_of(schedule.kind),
                                 collective::name_of(kind), collective::name_of(schedule.kind)));
  }
  if (arguments.channels != 0 && arguments.channels != schedule.channels) {
    throw InputError(fmt::format("--channels {}: the step list {} has {} of its own; leave --channels out",
                                 arguments.channels, arguments.algorithm, schedule.channels));
  }
  if (arguments.root != 0 && arguments.root != schedule.root) {
    throw InputError(fmt::format("-r {}: the root of the step list {} is {}; leave -r out", arguments.root,
                                 arguments.algorithm, schedule.root));
  }
  return file;
}

/// Bytes that each member sends to each one: the same of all members (a row), or of every member (rows).
struct Splits {
  std::vector<std::vector<Bytes>> rows;

  [[nodiscard]] Bytes largest_row() const {
    Bytes largest;
    for (const std::vector<Bytes>& row : rows) {
      largest = std::max(largest, std::accumulate(row.begin(), row.end(), Bytes(0)));
    }
    return largest;
  }
};

constexpr std::int64_t kMostSplit = std::int64_t{1} << 46;

std::vector<Bytes> row_of(const config::Node& node) {
  std::vector<Bytes> row;
  for (const config::Node& split : node.items()) {
    row.push_back(split.is_number() ? Bytes(split.integer(0, kMostSplit)) : split.bytes());
    if (row.back().count() > kMostSplit) {
      split.error("more than 64 TiB", "give fewer bytes");
    }
  }
  return row;
}

/// --splits: a list (10M,2M,2M,2M) or a JSON file with an array of bytes, or with an array of such arrays.
Splits splits_of(const std::string& text) {
  Splits splits;
  if (text.find_first_of("./") == std::string::npos) {
    std::vector<Bytes>& row = splits.rows.emplace_back();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      row.push_back(size_of("--splits", text.substr(begin, end - begin)));
      if (row.back().count() > kMostSplit) {
        throw InputError(fmt::format("--splits {}: more than 64 TiB; give fewer bytes", text));
      }
      begin = end + 1;
    }
    return splits;
  }
  config::Diagnostics diagnostics;
  const config::Document document = config::Document::load(text, diagnostics);
  const config::Node root = document.root();
  const std::vector<config::Node> items = root.items();
  const bool matrix = !items.empty() && items.front().is_array();
  if (!matrix) {
    splits.rows.push_back(row_of(root));
  }
  for (const config::Node& item : matrix ? items : std::vector<config::Node>{}) {
    splits.rows.push_back(row_of(item));
    if (splits.rows.back().size() != items.size()) {
      item.error(fmt::format("{} splits in a matrix of {} rows", splits.rows.back().size(), items.size()),
                 "give each member one row, with one split for each member");
    }
  }
  diagnostics.throw_if_any();
  return splits;
}

/// Refuses what does not go together with --splits, before anything is built.
void check_splits(const CollectiveArguments& arguments, collective::Kind kind) {
  if (kind != collective::Kind::kAllToAll) {
    throw InputError(
        fmt::format("--splits: only all_to_all has parts of different sizes, not {}; leave it out",
                    collective::name_of(kind)));
  }
  if (arguments.sizes_given) {
    throw InputError("--splits and -b or -e both say how many bytes; leave one out");
  }
  if (arguments.algorithm.find_first_of("./") != std::string::npos) {
    throw InputError("--splits: a step list cuts its buffer in equal chunks; leave one out");
  }
}

/// Asks for the splits of a group.
void ask(const Splits& splits, const std::string& flag, std::uint32_t ranks, collective::Request& request) {
  const std::size_t size = splits.rows.front().size();
  if (size != ranks) {
    throw InputError(fmt::format("--splits {}: {} splits for a group of {}; give one for each member{}", flag,
                                 size, ranks, size > 0 ? fmt::format(", or --ranks {}", size) : ""));
  }
  for (const std::vector<Bytes>& row : splits.rows) {
    request.splits.insert(request.splits.end(), row.begin(), row.end());
  }
}

/// Asks for the step list; an explicit --proto goes before its own.
void play(const collective::ScheduleFile& file, collective::Request& request) {
  request.algorithm = file.name;
  request.steps = std::make_shared<const collective::Schedule>(file.schedule);
  request.protocol = request.protocol ? request.protocol : file.protocol;
  request.root = file.schedule.root;
  request.channels = 0;
}

void check_reduction(const std::string& reduction) {
  const std::vector<std::string> known{"sum", "prod", "min", "max", "avg", "mulsum"};
  if (std::find(known.begin(), known.end(), reduction) == known.end()) {
    throw InputError(fmt::format("-o {}: unknown reduction; {}", reduction, suggest(reduction, known)));
  }
}

/// Ranks as --ranks, or as -g.
std::string ranks_of(const CollectiveArguments& arguments) {
  if (arguments.gpus == 0) {
    return arguments.common.ranks;
  }
  if (!arguments.common.ranks.empty()) {
    throw InputError("-g and --ranks both say how many ranks; leave one out");
  }
  return std::to_string(arguments.gpus);
}

/// What each size was chosen among.
void add_choice(const collective::Lowering& lowering,
                const collective::Request& request,
                const std::vector<Bytes>& sizes,
                const std::vector<GpuId>& group,
                report::CollectiveSweep& sweep) {
  report::Choice choice;
  choice.version = collective::nccl::text_of(lowering.chooser().settings().version);
  choice.group = lowering.group_text(group);
  for (const Bytes bytes : sizes) {
    collective::Request call = request;
    call.bytes = bytes;
    choice.candidates.push_back(lowering.candidates(call, group));
  }
  sweep.choice = std::move(choice);
}

void run(const CollectiveArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  network::require_available(arguments.common.fidelity);
  set_thread_count(arguments.common.threads);
  const std::vector<std::string> formats{"text", "json", "csv"};
  if (std::find(formats.begin(), formats.end(), arguments.common.format) == formats.end()) {
    throw InputError(fmt::format("unknown format \"{}\"; {}", arguments.common.format,
                                 suggest(arguments.common.format, formats)));
  }
  report::CollectiveSweep sweep;
  sweep.kind = kind_of(arguments.kind);
  sweep.dtype = dtype_of(arguments.dtype);
  std::vector<Bytes> wanted = sizes_of(arguments, sweep.step);
  Splits splits;
  if (!arguments.splits.empty()) {
    check_splits(arguments, sweep.kind);
    splits = splits_of(arguments.splits);
    wanted = {splits.largest_row()};
  }
  collective::Request request;
  request.kind = sweep.kind;
  request.dtype = sweep.dtype;
  request.algorithm = arguments.algorithm;
  request.protocol = protocol_of(arguments.protocol);
  request.channels = static_cast<std::uint32_t>(arguments.channels);
  request.root = static_cast<std::uint32_t>(arguments.root);
  const std::optional<collective::ScheduleFile> steps_file = step_list_of(arguments, sweep.kind);
  if (steps_file) {
    play(*steps_file, request);
  }
  check_reduction(arguments.reduction);
  sweep.reduction = arguments.reduction;
  request.reduction = collective::reduction_of(arguments.reduction);
  sweep.root = request.root;
  sweep.iterations = arguments.iterations;
  sweep.warmup = arguments.warmup;
  std::vector<Also> also;
  for (const std::string& text : arguments.also) {
    also.push_back(also_of(text, sweep.dtype));
  }
  const std::string ranks = ranks_of(arguments);
  const bool steps = steps_wanted(arguments.common);
  replay::CollectiveOptions options;
  options.form = steps ? collective::Form::kSteps : collective::Form::kCoupled;
  options.fidelity = arguments.common.fidelity;
  options.fold = fold_wanted(arguments.common) ? replay::Fold::kAuto : replay::Fold::kOff;
  std::vector<std::string> inputs{config::find_data("topologies", arguments.cluster).path};
  if (steps_file) {
    inputs.push_back(arguments.algorithm);
  }
  if (arguments.splits.find_first_of("./") != std::string::npos) {
    inputs.push_back(arguments.splits);
  }
  check_outputs(arguments.common, inputs);

  const topology::Cluster cluster =
      replay::load_cluster(arguments.cluster, arguments.common.settings, ranks, arguments.common.nccl);
  const replay::RankChoice choice = replay::choose_ranks(cluster, ranks);
  if (steps_file && steps_file->schedule.members != choice.ranks) {
    throw InputError(fmt::format("{}: a step list for {} members, and the group has {}; give --ranks {}",
                                 arguments.algorithm, steps_file->schedule.members, choice.ranks,
                                 steps_file->schedule.members));
  }
  if (request.root >= choice.ranks) {
    throw InputError(
        fmt::format("-r {}: the group has ranks 0 to {}; name one of them", request.root, choice.ranks - 1));
  }
  std::vector<replay::OtherCollective> others;
  for (Also& one : also) {
    one.collective.group =
        replay::choose_ranks(cluster, one.group, fmt::format("--also {}: group", one.text)).group();
    one.collective.request.bytes =
        whole_elements({one.collective.request.bytes}, one.collective.request.kind, sweep.dtype,
                       static_cast<std::uint32_t>(one.collective.group.size()))
            .front();
    others.push_back(one.collective);
  }
  const std::vector<GpuId> group = choice.group();
  const std::vector<Bytes> sizes =
      splits.rows.empty() ? whole_elements(wanted, sweep.kind, sweep.dtype, choice.ranks) : wanted;
  if (!splits.rows.empty()) {
    ask(splits, arguments.splits, choice.ranks, request);
  }
  const routing::Router router(cluster, arguments.common.routing, arguments.common.seed);
  sweep.ranks = choice.ranks;
  sweep.cluster = cluster.name;
  sweep.accelerator = cluster.host.accelerator.name;
  const auto times = replay::run_collectives(router, request, sizes, group, options, others);
  for (const replay::CollectiveTime& time : times) {
    sweep.rows.push_back({time.bytes,
                          time.time.seconds(),
                          time.algorithm,
                          std::string(collective::name_of(time.protocol)),
                          time.channels,
                          {}});
    for (std::size_t i = 0; i < also.size(); ++i) {
      const replay::OtherCollective& other = others[i];
      sweep.rows.back().others.push_back({other.request.kind, also[i].group,
                                          static_cast<std::uint32_t>(other.group.size()), other.request.bytes,
                                          other.start.seconds(), time.others[i].seconds()});
    }
  }
  const collective::Lowering lowering(router);
  sweep.without_effect = lowering.chooser().settings().without_effect;
  if (arguments.explain) {
    add_choice(lowering, request, sizes, group, sweep);
  }
  const std::string& format = arguments.common.format;
  deliver(format == "json"  ? report::collective_json(sweep)
          : format == "csv" ? report::collective_csv(sweep)
                            : report::collective_table(sweep),
          arguments.common);
  if (!arguments.common.plot.empty()) {
    report::write_file(arguments.common.plot, report::collective_plot(sweep));
  }
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
  command
      ->add_option("-o,--op", arguments->reduction,
                   "reduction: sum|prod|min|max|avg (NVLink switches add and compare only)")
      ->capture_default_str();
  add_whole(*command, "-r,--root", arguments->root, 0, 0xffffffffU, "root of rooted collectives");
  add_whole(*command, "-n,--iters", arguments->iterations, 1, 1'000'000'000, "iterations: one is predicted");
  add_whole(*command, "-w,--warmup_iters", arguments->warmup, 0, 1'000'000'000,
            "warm-up iterations: none is predicted");
  add_whole(*command, "-g,--ngpus", arguments->gpus, 1, 0xffffffffU, "use the first N GPUs, as --ranks N");
  command
      ->add_option("--also", arguments->also,
                   "run KIND:GROUP:BYTES[@START] at the same time (repeatable), GROUP as in --ranks")
      ->allow_extra_args(false);
  command->add_flag("--explain", arguments->explain,
                    "say what the algorithm and protocol were chosen among, and why");
  command->add_option("--plot", arguments->common.plot, "draw busbw over size into this SVG file");
  command->add_option("--algo", arguments->algorithm,
                      "algorithm family or leaf (stepcast list algorithms), or a step list to be checked and "
                      "played: MSCCL XML or the JSON of dump schedule");
  command->add_option("--splits", arguments->splits,
                      "bytes that each member sends to each one (all_to_all), instead of -b and -e: a list "
                      "(10M,2M,2M,2M), or a JSON file with an array, or with one for each member");
  command->add_option("--proto", arguments->protocol,
                      "LL|LL128|Simple (default: by NCCL's rules, see --explain)");
  add_whole(*command, "--channels", arguments->channels, 1, collective::kMostChannels,
            "channels (default: as many as NCCL takes)");
  add_run_options(*command, arguments->common);
  add_output_options(*command, arguments->common, "text|json|csv");
  command->footer("Example: stepcast collective all_reduce dgx-h100-1024 --ranks 8 -b 8 -e 8G -f 2");
  command->callback([arguments, command]() {
    arguments->sizes_given = command->count("--minbytes") + command->count("--maxbytes") > 0;
    run(*arguments);
  });
}

}  // namespace stepcast::app
