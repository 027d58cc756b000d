#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error.hpp"
#include "replay/simulation.hpp"

// How operations of several ranks meet, wait for each other and end.
namespace stepcast::replay {
namespace {

using engine::Priority;

constexpr std::uint64_t kWholeTransfer = 0xffffffffULL;  // step part of a network tag: not stepped

TimePoint at(std::int64_t ps) {
  return TimePoint::from_start(Duration::from_ps(ps));
}

}  // namespace

std::uint32_t Simulation::open_instance(std::uint32_t site_index,
                                        std::uint32_t sequence,
                                        std::uint32_t exchange) {
  SiteState& site = sites_[site_index];
  const std::uint32_t offset = sequence - site.base;
  if (offset < site.open.size()) {
    return site.open[offset];
  }
  STEPCAST_CHECK(offset == site.open.size(), "exchange {} of site {} opened out of order", sequence,
                 site_index);
  std::uint32_t index = 0;
  if (free_instances_.empty()) {
    index = static_cast<std::uint32_t>(instances_.size());
    instances_.emplace_back();
  } else {
    index = free_instances_.back();
    free_instances_.pop_back();
  }
  Instance& instance = instances_[index];
  instance.site = site_index;
  instance.sequence = sequence;
  instance.exchange = exchange;
  instance.done = 0;
  instance.started = false;
  instance.transferred = false;
  instance.arrivals.clear();
  const Exchange& priced = wiring_.exchanges[exchange];
  if (priced.plan != kNone) {
    const StepPlan& plan = wiring_.plans[priced.plan];
    if (instance.steps == nullptr) {
      instance.steps = std::make_unique<Steps>();
    }
    instance.steps->waits.clear();
    for (const StepPlan::Step& step : plan.steps) {
      // Both ends must be there besides the transfers before it.
      instance.steps->waits.push_back(step.waits + (step.source == step.destination ? 1U : 2U));
    }
    instance.steps->left.clear();
    for (const auto& steps : plan.of_member) {
      instance.steps->left.push_back(static_cast<std::uint32_t>(steps.size()));
    }
  }
  site.open.push_back(index);
  return index;
}

void Simulation::arrive(std::uint32_t id, std::uint32_t operation) {
  StreamState& stream = streams_[id];
  const ClassState& cls = classes_[stream.cls];
  const Endpoint& endpoint = wiring_.endpoints[stream.cls][wiring_.endpoint_index[cls.program][operation]];
  const SiteClass& site = wiring_.sites[endpoint.site];
  const std::uint32_t sequence = posted_[site.first_member + endpoint.member]++;
  const std::uint32_t index = open_instance(endpoint.site, sequence, endpoint.exchange);
  Instance& instance = instances_[index];
  if (wiring_.exchanges[instance.exchange].form != wiring_.exchanges[endpoint.exchange].form) {
    throw InputError(describe_mismatch(index, id, endpoint.exchange));
  }
  if (site.kind == Site::Kind::kMessages && endpoint.member == 0) {
    instance.exchange = endpoint.exchange;  // the sender says whether it waits for the receiver
  }
  const Exchange& exchange = wiring_.exchanges[instance.exchange];
  const auto arrival = static_cast<std::uint32_t>(instance.arrivals.size());
  instance.arrivals.push_back({id, endpoint.member, false});
  if (exchange.plan != kNone) {
    queue_.schedule(after(exchange.latency_ps), Priority::kRelease, kMemberReady, operation, stream.cls,
                    index, endpoint.member);
  }
  if (!instance.started) {
    const bool complete = instance.arrivals.size() == site.members;
    const bool starts = complete || (exchange.entry == Entry::kSender && endpoint.member == 0);
    if (starts) {
      take_longest_chain(instance, complete && exchange.entry == Entry::kAll ? kNone : arrival);
      start_instance(index);
    }
    return;
  }
  // A late receiver of an eager message.
  if (!instance.transferred) {
    stream.in_flight = true;
    accounting_.begin(stream.cls, compiled_[cls.program].operations[operation].activity, now_);
    return;
  }
  const std::int64_t offset = offset_of(exchange, endpoint.member);
  queue_.schedule(at(std::max(now_, instance.transferred_at + offset)), Priority::kRelease, kMemberDone,
                  operation, stream.cls, index, arrival);
}

/// The chain of the arrival that started an exchange, or the longest of all (ties: lexicographically).
void Simulation::take_longest_chain(Instance& instance, std::uint32_t arrival) const {
  const StreamState* longest = &streams_[instance.arrivals[arrival == kNone ? 0 : arrival].stream];
  for (std::size_t i = 0; arrival == kNone && i < instance.arrivals.size(); ++i) {
    const StreamState& other = streams_[instance.arrivals[i].stream];
    if (other.path_total > longest->path_total ||
        (other.path_total == longest->path_total && longest->path < other.path)) {
      longest = &other;
    }
  }
  instance.path = longest->path;
  instance.path_total = longest->path_total;
}

void Simulation::start_instance(std::uint32_t index) {
  Instance& instance = instances_[index];
  const Exchange& exchange = wiring_.exchanges[instance.exchange];
  instance.started = true;
  std::uint32_t operation = 0;
  std::uint32_t colour = 0;
  for (const Arrival& arrival : instance.arrivals) {
    StreamState& stream = streams_[arrival.stream];
    if (arrival.done) {
      continue;
    }
    operation = head_operation(stream);
    colour = stream.cls;
    stream.head_active = now_;
    stream.in_flight = true;
    accounting_.begin(stream.cls, compiled_[classes_[stream.cls].program].operations[operation].activity,
                      now_);
  }
  if (exchange.plan != kNone) {
    return;  // members set its steps going one by one
  }
  if (exchange.fixed_ps < 0 && exchange.latency_ps == 0) {
    start_transfer(index);
    return;
  }
  const std::int64_t wait = exchange.fixed_ps >= 0 ? exchange.fixed_ps : exchange.latency_ps;
  queue_.schedule(after(wait), Priority::kRelease, kTransferStart, operation, colour, index, 0);
}

void Simulation::start_transfer(std::uint32_t index) {
  const Exchange& exchange = wiring_.exchanges[instances_[index].exchange];
  if (exchange.fixed_ps >= 0) {
    transferred(index);  // the recorded duration is over
    return;
  }
  network_.start(exchange.shape, exchange.work, at(now_), (kWholeTransfer << 32U) | index, exchange.payload);
}

void Simulation::complete(const network::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.tag & 0xffffffffULL);
  const std::uint64_t step = completion.tag >> 32U;
  if (step == kWholeTransfer) {
    transferred(index);
  } else {
    step_left(index, static_cast<std::uint32_t>(step));
  }
}

void Simulation::transferred(std::uint32_t index) {
  Instance& instance = instances_[index];
  if (const std::uint32_t next = wiring_.exchanges[instance.exchange].next; next != kNone) {
    // All members are there, and none has left: the next phase begins.
    instance.exchange = next;
    const Exchange& phase = wiring_.exchanges[next];
    const StreamState& stream = streams_[instance.arrivals.front().stream];
    queue_.schedule(after(phase.latency_ps), Priority::kRelease, kTransferStart, head_operation(stream),
                    stream.cls, index, 0);
    return;
  }
  instance.transferred = true;
  instance.transferred_at = now_;
  const Exchange& exchange = wiring_.exchanges[instance.exchange];
  for (std::uint32_t i = 0; i < instance.arrivals.size(); ++i) {
    const Arrival& arrival = instance.arrivals[i];
    const std::int64_t offset = offset_of(exchange, arrival.member);
    if (offset == 0) {
      finish_member(index, i);
    } else {
      const StreamState& stream = streams_[arrival.stream];
      queue_.schedule(after(offset), Priority::kRelease, kMemberDone, head_operation(stream), stream.cls,
                      index, i);
    }
  }
}

void Simulation::finish_member(std::uint32_t index, std::uint32_t arrival_index) {
  Instance& instance = instances_[index];
  Arrival& arrival = instance.arrivals[arrival_index];
  StreamState& stream = streams_[arrival.stream];
  const CompiledOperation& op = compiled_[classes_[stream.cls].program].operations[head_operation(stream)];
  if (stream.path_total < now_) {
    stream.path = instance.path;
    stream.path[static_cast<std::size_t>(op.part)] += now_ - instance.path_total;
    stream.path_total = now_;
  }
  arrival.done = true;
  finish_head(arrival.stream);
  if (++instance.done == wiring_.sites[instance.site].members) {
    release(index);
  }
}

void Simulation::release(std::uint32_t index) {
  const Instance& instance = instances_[index];
  SiteState& site = sites_[instance.site];
  site.open[instance.sequence - site.base] = kNone;
  std::size_t finished = 0;
  while (finished < site.open.size() && site.open[finished] == kNone) {
    ++finished;
  }
  site.open.drop_front(finished);
  site.base += static_cast<std::uint32_t>(finished);
  free_instances_.push_back(index);
}

void Simulation::member_ready(std::uint32_t index, std::uint32_t member) {
  const StepPlan& plan = wiring_.plans[wiring_.exchanges[instances_[index].exchange].plan];
  for (const std::uint32_t step : plan.of_member[member]) {
    step_ready(index, step);
  }
  if (plan.of_member[member].empty()) {
    ++instances_[index].steps->left[member];
    step_member_progress(index, member);
  }
}

void Simulation::step_ready(std::uint32_t index, std::uint32_t step) {
  Instance& instance = instances_[index];
  if (--instance.steps->waits[step] == 0) {
    const StepPlan::Step& planned = wiring_.plans[wiring_.exchanges[instance.exchange].plan].steps[step];
    network_.start(planned.shape, planned.work, at(now_), (static_cast<std::uint64_t>(step) << 32U) | index,
                   planned.payload);
  }
}

void Simulation::step_left(std::uint32_t index, std::uint32_t step) {
  const Instance& instance = instances_[index];
  const StepPlan::Step& planned = wiring_.plans[wiring_.exchanges[instance.exchange].plan].steps[step];
  for (const std::uint32_t next : planned.when_left) {
    step_ready(index, next);
  }
  const StreamState& stream = streams_[instance.arrivals.front().stream];
  queue_.schedule(after(planned.latency_ps), Priority::kRelease, kStepArrived, step, stream.cls, index, step);
}

void Simulation::step_arrived(std::uint32_t index, std::uint32_t step) {
  const StepPlan::Step& planned =
      wiring_.plans[wiring_.exchanges[instances_[index].exchange].plan].steps[step];
  for (const std::uint32_t next : planned.when_arrived) {
    step_ready(index, next);
  }
  step_member_progress(index, planned.source);
  if (planned.destination != planned.source) {
    step_member_progress(index, planned.destination);
  }
}

void Simulation::step_member_progress(std::uint32_t index, std::uint32_t member) {
  Instance& instance = instances_[index];
  if (--instance.steps->left[member] != 0) {
    return;
  }
  for (std::uint32_t i = 0; i < instance.arrivals.size(); ++i) {
    if (instance.arrivals[i].member == member) {
      finish_member(index, i);
      return;
    }
  }
}

std::string Simulation::describe_mismatch(std::uint32_t index,
                                          std::uint32_t late,
                                          std::uint32_t exchange) const {
  const Instance& instance = instances_[index];
  const StreamState& first = streams_[instance.arrivals.front().stream];
  const StreamState& second = streams_[late];
  return fmt::format(
      "{} does {} where {} does {}; the {} members of one exchange must agree in kind and bytes",
      describe_operation(second, head_operation(second)), wiring_.name_of(wiring_.exchanges[exchange]),
      describe_operation(first, head_operation(first)), wiring_.name_of(wiring_.exchanges[instance.exchange]),
      wiring_.sites[instance.site].members);
}

}  // namespace stepcast::replay
