#include "replay/analytic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "replay/accounting.hpp"
#include "replay/alone_prices.hpp"
#include "replay/pipeline_walk.hpp"
#include "replay/stage_engines.hpp"
#include "workload/shapes.hpp"
#include "workload/stage_pieces.hpp"

namespace stepcast::replay {
namespace {

using program::Dimension;
using program::OpKind;

/// What pieces of a job depend on (workload/stage_pieces.hpp says which on what); the first word tells keys
/// of different pieces apart.
using JobKey = std::array<std::uint64_t, 11>;
using PieceKey = std::array<std::uint64_t, 5>;

struct PieceHash {
  std::size_t operator()(const PieceKey& key) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key) {
      hash = mix(hash, word);
    }
    return hash;
  }
};

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

Dimension dimension_of(const program::Program& program, const program::Operation& op) {
  return program.labels[op.label].dimension;
}

collective::Request request_of(const program::Program& program, const program::Operation& op) {
  const program::CollectiveDetail& detail = program.collectives[op.detail];
  STEPCAST_CHECK(op.meaning == program::BytesMeaning::kWholeBuffer && detail.algorithm.empty() &&
                     detail.protocol.empty() && detail.channels == 0,
                 "a hint in the generated program {}", program.name);
  collective::Request request;
  request.kind = detail.kind;
  request.bytes = Bytes(op.bytes);
  request.dtype = op.dtype;
  request.root = detail.root;
  return request;
}

std::uint64_t flags(std::initializer_list<bool> values) {
  std::uint64_t word = 0;
  for (const bool value : values) {
    word = 2 * word + (value ? 1 : 0);
  }
  return word;
}

}  // namespace

struct AnalyticModel::State {
  State(const routing::Router& router, const compute::Model& compute, Placement placement)
      : router_(router), compute_(compute), prices_(router, std::move(placement)) {}

  /// `whole`: where to put pieces with their programs; without it they are kept as matrices.
  PricedPlan plan(const workload::Job& job, std::vector<std::unique_ptr<PricedPiece>>* whole = nullptr) {
    STEPCAST_CHECK(workload::RankGrid(job.plan).ranks() <= prices_.ranks(), "{} ranks on {} GPUs",
                   workload::RankGrid(job.plan).ranks(), prices_.ranks());
    const Keys keys = keys_of(job);
    PricedPlan plan;
    plan.order = &orders_.of(job);
    plan.messages.resize(job.plan.pp);
    plan.pieces.resize(job.plan.pp);
    for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
      const Sets sets{prices_.tensor_groups(job.plan, stage), prices_.data_groups(job.plan, stage),
                      prices_.speed(job.plan, stage)};
      const auto& kinds = plan.order->stages[stage].kinds;
      plan.pieces[stage].reserve(kinds.size());
      for (const StageOrder::Kind& kind : kinds) {
        if (whole != nullptr) {
          whole->push_back(std::make_unique<PricedPiece>(build(job, stage, kind, sets)));
        }
        const PricedPiece& piece = whole != nullptr ? *whole->back() : piece_of(job, stage, kind, keys, sets);
        plan.pieces[stage].push_back(&piece);
        PricedPlan::Message& message = plan.messages[stage][piece.forward ? 1 : 0];
        if (piece.send != kNone && message.receiver_ps == 0) {
          message = message_of(job.plan, stage, piece);
        }
        if (piece.embedding != kNone) {
          plan.embedding_ps =
              prices_.collective_ps(piece.embedding_request, prices_.embedding_groups(job.plan));
        }
      }
    }
    return plan;
  }

  AnalyticStep price(const workload::Job& job, const PricedPlan& plan) const {
    FastEngine engine(job.plan.pp, job.plan.tp > 1);
    PipelineWalk<FastEngine> walk(plan, engine);
    walk.run();
    AnalyticStep step;
    step.walked = walk.walked();
    for (const StageOrder& order : plan.order->stages) {
      step.tasks += order.tasks.size();
    }
    for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
      step.finish.push_back(Duration::from_ps(std::max(engine.end(stage), walk.last_sent(stage))));
      if (stage == 0 || step.finish.back() > step.step) {
        step.step = step.finish.back();
        step.last_stage = stage;
      }
    }
    return step;
  }

  /// Long steps are explained by two shorter ones that lie a whole number of rounds before: in the steady
  /// state every round adds the same. Their ends must lead to the end that was priced, else longer ones are
  /// taken.
  Timeline explain(const workload::Job& job) {
    const std::uint64_t batches = workload::micro_batches(job);
    const std::uint64_t round = job.plan.pp;
    const AnalyticStep step = price(job, plan(job));
    for (std::uint64_t shorter = std::max<std::uint64_t>(kExplained, 8 * round); 2 * shorter < batches;
         shorter *= 2) {
      const std::uint64_t first = shorter + (batches - shorter) % round;
      std::optional<Timeline> found = extend(job, step, first, round);
      if (found) {
        return *std::move(found);
      }
    }
    return explain_all(job);
  }

  static workload::Job with_micro_batches(workload::Job job, std::uint64_t count) {
    job.global_batch = job.global_batch / workload::micro_batches(job) * count;
    return job;
  }

  /// The timeline of `job` from those of `first` and `first + round` micro-batches, when they grow evenly.
  std::optional<Timeline> extend(const workload::Job& job,
                                 const AnalyticStep& step,
                                 std::uint64_t first,
                                 std::uint64_t round) {
    Timeline timeline = explain_all(with_micro_batches(job, first));
    const Timeline next = explain_all(with_micro_batches(job, first + round));
    const auto rounds = static_cast<std::int64_t>((workload::micro_batches(job) - first) / round);
    bool even = timeline.last_class == next.last_class && timeline.last_class == ClassId{step.last_stage};
    const auto grow = [&](std::int64_t& now, std::int64_t then) {
      even = even && then >= now;
      now += (then - now) * rounds;
    };
    const auto grow_time = [&](Duration& now, Duration then) {
      std::int64_t ps = now.ps();
      grow(ps, then.ps());
      now = Duration::from_ps(ps);
    };
    for (std::size_t i = 0; i < kActivities; ++i) {
      grow_time(timeline.breakdown[i], next.breakdown[i]);
    }
    for (std::size_t i = 0; i < kPathParts; ++i) {
      grow_time(timeline.critical_path[i], next.critical_path[i]);
    }
    for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
      grow_time(timeline.busy[ClassId{stage}], next.busy[ClassId{stage}]);
      Duration end = timeline.finish[ClassId{stage}].since_start();
      grow_time(end, next.finish[ClassId{stage}].since_start());
      even = even && end == step.finish[stage];
      timeline.finish[ClassId{stage}] = TimePoint::from_start(end);
    }
    if (!even) {
      return std::nullopt;
    }
    timeline.end = TimePoint::from_start(step.step);
    timeline.operations += (next.operations - timeline.operations) * static_cast<std::uint64_t>(rounds);
    timeline.fingerprint =
        mix(mix(timeline.fingerprint, next.fingerprint), static_cast<std::uint64_t>(rounds));
    timeline.tiers.clear();
    std::vector<std::unique_ptr<PricedPiece>> pieces;
    add_traffic(job, plan(job, &pieces), timeline);
    return timeline;
  }

  Timeline explain_all(const workload::Job& job) {
    std::vector<std::unique_ptr<PricedPiece>> pieces;  // with their programs, which the kept ones lack
    const PricedPlan priced = plan(job, &pieces);
    const AnalyticStep step = price(job, priced);
    const workload::RankGrid grid(job.plan);
    TracedEngine engine(job.plan.pp, step.last_stage, grid.stage_ranks());
    PipelineWalk<TracedEngine> walk(priced, engine);
    walk.run();
    Timeline timeline;
    timeline.end = TimePoint::from_start(step.step);
    timeline.last_class = ClassId{step.last_stage};
    for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
      const Traced end = TracedEngine::join(engine.end(stage), walk.last_sent(stage));
      STEPCAST_CHECK(end.ps == step.finish[stage].ps(), "stage {} ends at {} ps, priced at {} ps", stage,
                     end.ps, step.finish[stage].ps());
      timeline.finish.push_back(TimePoint::from_start(step.finish[stage]));
      if (stage == step.last_stage) {
        for (std::size_t part = 0; part < kPathParts; ++part) {
          timeline.critical_path[part] = Duration::from_ps(end.path[part]);
        }
      }
    }
    break_down(engine, job.plan.pp, timeline);
    add_traffic(job, priced, timeline);
    timeline.fingerprint = engine.fingerprint();
    timeline.operations = engine.operations();
    timeline.ranks = grid.ranks();
    timeline.classes = job.plan.pp;
    timeline.audit = "one class per stage";
    return timeline;
  }

  std::vector<std::string> notes(const workload::Job& job) {
    std::vector<std::string> differ;
    const workload::Plan& plan = job.plan;
    const auto add = [&](bool alike, std::string_view what) {
      if (!alike && std::find(differ.begin(), differ.end(), what) == differ.end()) {
        differ.emplace_back(what);
      }
    };
    for (std::uint32_t stage = 0; stage < plan.pp; ++stage) {
      add(prices_.alike(prices_.tensor_groups(plan, stage)), "tensor-parallel groups");
      add(prices_.alike(prices_.data_groups(plan, stage)), "data-parallel groups");
      add(plan.pp == 1 || prices_.alike(prices_.messages(plan, stage, true)), "pipeline messages");
      add(prices_.speed(plan, stage) == 1, "GPUs");
    }
    if (differ.empty()) {
      return {};
    }
    return {fmt::format("{} of one stage differ; analytic takes the slowest of each for all",
                        fmt::join(differ, ", "))};
  }

 private:
  /// What the pieces of a job depend on, each as a number.
  struct Keys {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
    std::uint64_t buckets = 0;  ///< ... of tasks that gather or reduce, besides
    std::uint64_t end = 0;
  };
  struct Sets {
    PriceSet tensor = kNoSet;
    PriceSet data = kNoSet;
    double speed = 1;
  };

  static constexpr std::uint64_t kExplained = 128;  ///< micro-batches of a step that is walked as it is

  std::uint64_t intern(const JobKey& key) { return jobs_.try_emplace(key, jobs_.size()).first->second; }

  Keys keys_of(const workload::Job& job) {
    std::size_t model = 0;
    while (model < models_.size() && !(models_[model] == job.model)) {
      ++model;
    }
    if (model == models_.size()) {
      models_.push_back(job.model);
    }
    const workload::Plan& plan = job.plan;
    const std::uint64_t copies = workload::copies_embeddings(job) ? 1 : 0;
    const std::uint64_t split = plan.tp > 1 ? 1 : 0;
    JobKey forward{0,
                   model,
                   plan.tp,
                   job.sequence,
                   job.micro_batch,
                   static_cast<std::uint64_t>(job.precision),
                   static_cast<std::uint64_t>(job.attention),
                   bits(job.dropout),
                   flags({plan.sequence_parallel, job.overlap_p2p})};
    JobKey backward = forward;
    backward[0] = 1 + static_cast<std::uint64_t>(job.recompute);
    backward[9] = job.overlap_tp ? split : 0;
    JobKey buckets{4,
                   model,
                   plan.tp,
                   copies,
                   job.sequence,
                   static_cast<std::uint64_t>(job.grad_dtype),
                   static_cast<std::uint64_t>(job.bucket.count()),
                   flags({plan.distributed_optimizer})};
    JobKey end = buckets;
    end[0] = 5;
    end[8] = plan.dp;
    end[9] = plan.virtual_stages;
    end[10] = flags({job.overlap_grad_reduce, job.overlap_param_gather, job.checkpoint});
    return {intern(forward), intern(backward), intern(buckets), intern(end)};
  }

  const PricedPiece& piece_of(const workload::Job& job,
                              std::uint32_t stage,
                              const StageOrder::Kind& kind,
                              const Keys& keys,
                              const Sets& sets) {
    const workload::PipelineTask& task = kind.task.task;
    const bool first_stage = stage == 0;
    const bool last_stage = stage + 1 == job.plan.pp;
    PieceKey key{};
    key[0] = (std::uint64_t{workload::chunk_layers(job, stage)} << 32U);
    key[1] = bits(sets.speed);
    if (kind.ends_step) {
      key[0] |= flags({first_stage, last_stage});
      key[2] = keys.end;
      key[3] = sets.data;
      key[4] = job.checkpoint ? (std::uint64_t{job.plan.pp} << 32U) + stage + 1 : 0;  // whose writes
    } else {
      key[0] |= flags({task.forward, first_stage && task.chunk == 0,
                       last_stage && task.chunk + 1 == job.plan.virtual_stages, kind.task.gathers,
                       kind.task.reduces, kind.task.posts_receive});
      key[2] = task.forward ? keys.forward : keys.backward;
      key[3] = std::uint64_t{sets.tensor} << 32U;
      if (kind.task.gathers || kind.task.reduces) {
        key[3] |= sets.data;
        key[4] = keys.buckets;
      }
    }
    std::unique_ptr<PricedPiece>& piece = pieces_[key];
    if (piece == nullptr) {
      piece = std::make_unique<PricedPiece>(build(job, stage, kind, sets));
      piece->program = {};
      piece->compiled = {};
      piece->operations = {};
      piece->dependencies = {};
    }
    return *piece;
  }

  PricedPiece build(const workload::Job& job,
                    std::uint32_t stage,
                    const StageOrder::Kind& kind,
                    const Sets& sets) {
    const hardware::Accelerator& device = router_.cluster().host.accelerator;
    workload::StagePiece written = kind.ends_step ? workload::end_piece(job, device, stage)
                                                  : workload::task_piece(job, device, stage, kind.task);
    PricedPiece piece;
    piece.program = std::move(written.program);
    piece.task_begin = written.begin;
    piece.done = written.done;
    piece.compiled = compile(piece.program, compute_, device);
    piece.forward = kind.task.task.forward;
    piece.posts = kind.task.posts_receive;
    piece.ends_step = kind.ends_step;
    piece.streams = static_cast<std::uint32_t>(piece.program.streams.size());
    piece.receive_stream = workload::receive_stream(piece.forward);
    for (std::uint32_t index = 0; index < piece.program.operations.size(); ++index) {
      add_operation(job, stage, sets, index, piece);
    }
    for (const program::Dependency& dependency : piece.program.dependencies) {
      STEPCAST_CHECK(dependency.edge == program::EdgeKind::kFinishToStart, "edge {} in a generated program",
                     name_of(dependency.edge));
      piece.dependencies.push_back(dependency.operation);
    }
    fill_matrix(piece);
    return piece;
  }

  void add_operation(const workload::Job& job,
                     std::uint32_t stage,
                     const Sets& sets,
                     std::uint32_t index,
                     PricedPiece& piece) {
    using Kind = PricedPiece::Operation::Kind;
    const program::Operation& op = piece.program.operations[index];
    PricedPiece::Operation priced;
    priced.stream = op.stream;
    priced.first_dependency = op.first_dependency;
    priced.dependency_count = op.dependency_count;
    const auto only_one = [index](std::uint32_t& place) {
      STEPCAST_CHECK(place == kNone, "operations {} and {} of one kind in a piece", place, index);
      place = index;
    };
    if (piece.ends_step && index == piece.done) {  // stands for the end of the last task
      priced.kind = Kind::kReceive;
      piece.operations.push_back(priced);
      return;
    }
    switch (op.kind) {
      case OpKind::kRepeat:
        priced.kind = Kind::kRepeat;
        priced.body = op.target;
        priced.count = static_cast<std::uint32_t>(op.bytes);
        break;
      case OpKind::kRecv:
        priced.kind = Kind::kReceive;
        only_one(piece.receive);
        break;
      case OpKind::kSend:
        priced.kind = Kind::kSend;
        only_one(piece.send);
        piece.message_bytes = op.bytes;
        break;
      case OpKind::kCollective:
        if (dimension_of(piece.program, op) == Dimension::kPp) {
          priced.kind = Kind::kEmbedding;
          only_one(piece.embedding);
          piece.embedding_request = request_of(piece.program, op);
        } else {
          priced.duration_ps = prices_.collective_ps(
              request_of(piece.program, op),
              dimension_of(piece.program, op) == Dimension::kTp ? sets.tensor : sets.data);
        }
        break;
      case OpKind::kStorage: priced.duration_ps = prices_.write_ps(Bytes(op.bytes), job.plan, stage); break;
      default:
        priced.duration_ps = piece.compiled.operations[index].duration_ps;
        if (op.kind == OpKind::kCompute && sets.speed != 1) {
          priced.duration_ps =
              static_cast<std::int64_t>(std::ceil(static_cast<double>(priced.duration_ps) / sets.speed));
        }
    }
    piece.operations.push_back(priced);
  }

  PricedPlan::Message message_of(const workload::Plan& plan, std::uint32_t stage, const PricedPiece& piece) {
    const PriceSet set = prices_.messages(plan, stage, piece.forward);
    const auto [known, fresh] = messages_.try_emplace({set, piece.message_bytes}, PricedPlan::Message{});
    if (fresh) {
      const MessageTime time = prices_.message_time(Bytes(piece.message_bytes), set);
      known->second = {time.sender_ps, time.receiver_ps};
    }
    return known->second;
  }

  /// Attributes every instant of the last stage, by the accounting that the executor keeps.
  static void break_down(const TracedEngine& engine, std::uint32_t stages, Timeline& timeline) {
    struct Change {
      std::int64_t at = 0;
      std::uint32_t stage = 0;
      Activity activity = Activity::kOther;
      bool begins = false;
    };
    std::vector<Change> changes;
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      for (const Busy& busy : engine.busy(stage)) {
        changes.push_back({busy.begin, stage, busy.activity, true});
        changes.push_back({busy.end, stage, busy.activity, false});
      }
    }
    // What begins comes before what ends: the order within an instant changes no time, but counts stay >= 0.
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.at != b.at ? a.at < b.at : a.begins && !b.begins;
    });
    Accounting accounting(stages);
    for (const Change& change : changes) {
      if (change.begins) {
        accounting.begin(change.stage, change.activity, change.at);
      } else {
        accounting.end(change.stage, change.activity, change.at);
      }
    }
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      timeline.busy.push_back(Duration::from_ps(accounting.busy(stage)));
    }
    const auto& spent = accounting.close(timeline.last_class.index(), timeline.end.ps());
    for (std::size_t i = 0; i < kActivities; ++i) {
      timeline.breakdown[i] = Duration::from_ps(spent[i]);
    }
  }

  /// Bytes of all links: what each exchange moves, as often as it runs.
  void add_traffic(const workload::Job& job, const PricedPlan& plan, Timeline& timeline) const {
    const auto resources = router_.resources();
    AlonePrices::Traffic traffic{std::vector<double>(resources.size()),
                                 std::vector<double>(resources.size())};
    for (std::uint32_t stage = 0; stage < job.plan.pp; ++stage) {
      add_stage_traffic(job, stage, plan, traffic);
    }
    for (const std::string& tier : router_.topology().tiers()) {
      timeline.tiers.push_back({tier, 0, 0, 0});
    }
    const double seconds = timeline.end.since_start().seconds();
    for (std::size_t index = 0; index < resources.size(); ++index) {
      TierUse& tier = timeline.tiers.at(resources[index].tier);
      if (!resources[index].links.empty()) {  // a storage system's own rate is no link
        tier.bytes += traffic.bytes[index];
      }
      if (seconds > 0 && resources[index].bytes_per_second > 0) {
        tier.utilisation =
            std::max(tier.utilisation, traffic.bytes[index] / (resources[index].bytes_per_second * seconds));
      }
      // Alone, an operation loads a link by its mean over the step at least.
      tier.peak = std::max({tier.peak, traffic.peak[index], std::min(tier.utilisation, 1.0)});
    }
  }

  void add_stage_traffic(const workload::Job& job,
                         std::uint32_t stage,
                         const PricedPlan& plan,
                         AlonePrices::Traffic& traffic) const {
    const StageOrder& order = plan.order->stages[stage];
    std::vector<double> runs(order.kinds.size());
    for (const std::uint16_t kind : order.tasks) {
      ++runs[kind];
    }
    // By operation kind, dimension (or direction), collective and bytes.
    std::map<std::tuple<OpKind, int, int, std::int64_t>, AlonePrices::Counted> exchanges;
    for (std::size_t kind = 0; kind < runs.size(); ++kind) {
      const PricedPiece& piece = *plan.pieces[stage][kind];
      const std::vector<std::uint64_t> counts = program::execution_counts(piece.program);
      for (std::size_t index = 0; index < piece.program.operations.size(); ++index) {
        const program::Operation& op = piece.program.operations[index];
        collective::Request request;
        int where = 0;
        if (op.kind == OpKind::kCollective) {
          request = request_of(piece.program, op);
          where = static_cast<int>(dimension_of(piece.program, op));
        } else if (op.kind == OpKind::kSend) {
          where = piece.forward ? 1 : 0;
        } else if (op.kind != OpKind::kStorage) {
          continue;
        }
        auto& [same, count] = exchanges[{op.kind, where, static_cast<int>(request.kind), op.bytes}];
        same = request;
        count += runs[kind] * static_cast<double>(counts[index]);
      }
    }
    const workload::RankGrid grid(job.plan);
    const std::uint32_t ranks = grid.stage_ranks();
    std::map<Dimension, std::vector<AlonePrices::Counted>> collectives;  // groups are walked once for all
    for (const auto& [key, exchange] : exchanges) {
      const auto [kind, where, collective, bytes] = key;
      if (kind == OpKind::kSend) {
        const std::uint32_t peer = (stage + (where == 1 ? 1 : job.plan.pp - 1)) % job.plan.pp;
        prices_.add_messages(Bytes(bytes), stage * ranks, ranks,
                             (std::int64_t{peer} - std::int64_t{stage}) * ranks, exchange.second, traffic);
      } else if (kind == OpKind::kStorage) {
        prices_.add_writes(Bytes(bytes), stage * ranks, ranks, exchange.second, traffic);
      } else {
        collectives[static_cast<Dimension>(where)].push_back(exchange);
      }
    }
    for (const auto& [dimension, requests] : collectives) {
      prices_.add_collectives(requests, groups_of(grid, job.plan, stage, dimension), traffic);
    }
  }

  /// Groups of a stage in one dimension; an embedding group belongs to its first stage.
  static std::vector<program::Group> groups_of(const workload::RankGrid& grid,
                                               const workload::Plan& plan,
                                               std::uint32_t stage,
                                               Dimension dimension) {
    std::vector<program::Group> groups;
    for (std::uint32_t dp = 0; dp < plan.dp; ++dp) {
      if (dimension == Dimension::kTp) {
        groups.push_back(grid.tensor_group(dp, stage));
      }
      for (std::uint32_t tp = 0; tp < plan.tp && stage == 0 && dimension == Dimension::kPp; ++tp) {
        groups.push_back(grid.embedding_group(tp, dp));
      }
    }
    for (std::uint32_t tp = 0; tp < plan.tp && dimension == Dimension::kDp; ++tp) {
      groups.push_back(grid.data_group(tp, stage));
    }
    return groups;
  }

  const routing::Router& router_;
  const compute::Model& compute_;
  AlonePrices prices_;
  PipelineOrders orders_;
  std::vector<workload::Model> models_;
  std::map<JobKey, std::uint64_t> jobs_;
  std::map<std::pair<PriceSet, std::int64_t>, PricedPlan::Message> messages_;
  std::unordered_map<PieceKey, std::unique_ptr<PricedPiece>, PieceHash> pieces_;  // looked up, never walked
};

AnalyticModel::AnalyticModel(const routing::Router& router,
                             const compute::Model& compute,
                             Placement placement)
    : state_(std::make_unique<State>(router, compute, std::move(placement))) {}

AnalyticModel::~AnalyticModel() = default;

AnalyticStep AnalyticModel::price(const workload::Job& job) {
  return state_->price(job, state_->plan(job));
}

Timeline AnalyticModel::explain(const workload::Job& job) {
  return state_->explain(job);
}

std::vector<std::string> AnalyticModel::notes(const workload::Job& job) {
  return state_->notes(job);
}

void require_coupled(collective::Form form) {
  if (form == collective::Form::kSteps) {
    throw UnsupportedError(
        "fidelity \"analytic\" prices collectives whole; use --lowering coupled, or --fidelity flow");
  }
}

void predict_analytic(const routing::Router& router,
                      const compute::Model& compute,
                      Placement placement,
                      const workload::Job& job,
                      const PredictOptions& options,
                      Result& result) {
  if (options.record_timeline) {
    throw UnsupportedError("fidelity \"analytic\" keeps no timeline for --trace; use --fidelity flow");
  }
  require_coupled(options.form);
  AnalyticModel model(router, compute, std::move(placement));
  result.timeline = model.explain(job);
  result.gpus = result.timeline.ranks;
  result.step_time_s = result.timeline.end.since_start().seconds();
  result.last_rank = result.timeline.last_class.index() * workload::RankGrid(job.plan).stage_ranks();
  for (std::string& note : model.notes(job)) {
    result.notes.push_back(std::move(note));
  }
  for (const TierUse& tier : result.timeline.tiers) {
    if (tier.utilisation > 1) {
      result.notes.push_back(fmt::format(
          "{}: more bytes than its busiest part can move in the step, because operations that share it "
          "are each priced alone; --fidelity flow counts that",
          tier.tier));
    }
  }
}

}  // namespace stepcast::replay
