// Laws of the flow network over generated fabrics: what the equation of design 2.1 promises, and that
// its arithmetic depends on nothing but the running activities.

#include <algorithm>
#include <bit>
#include <numeric>

#include <rapidcheck.h>

#include "base/random.hpp"
#include "network/flow_network.hpp"
#include "support/catch.hpp"
#include "support/network_driver.hpp"
#include "support/reference_max_min.hpp"

using namespace stepcast;
using namespace stepcast::support;
using network::Completion;
using network::Demand;
using network::FlowNetwork;

namespace {

struct Kind {
  std::vector<Demand> demands;
  network::Shape rest;
};

/// A fabric and the kinds of activities on it. Everything follows from one seed.
struct Scenario {
  std::vector<double> capacities;
  std::vector<Kind> kinds;
};

double some_capacity(RandomStream& random) {
  // Equal, unequal and odd ones, so that rounds tie, nearly tie and do not tie; some links are down.
  constexpr std::array kCapacities = {50e9, 50e9, 50e9, 25e9, 400e9 / 3, 12.5e9, 1.0 / 3, 7e9, 0.0};
  return kCapacities[random.below(kCapacities.size())];
}

Scenario some_scenario(std::uint64_t seed) {
  RandomStream random(seed, "flow network scenario");
  const auto up_to = [&random](std::uint64_t most) {
    return static_cast<std::uint32_t>(random.below(most) + 1);
  };
  Scenario scenario;
  scenario.capacities.resize(up_to(12));
  for (double& capacity : scenario.capacities) {
    capacity = some_capacity(random);
  }
  scenario.kinds.resize(up_to(10));
  for (Kind& kind : scenario.kinds) {
    for (std::uint32_t left = up_to(4); left > 0; --left) {
      const ResourceId resource{random.below(scenario.capacities.size())};
      kind.demands.push_back(
          over(resource, random.below(2) == 0 ? 1 : up_to(5), random.below(2) == 0 ? 1 : up_to(8)));
    }
    kind.rest.divisor = random.below(3) == 0 ? up_to(6) : 1;
    kind.rest.fairness = random.below(2) == 0 ? up_to(4) : 1;
    kind.rest.cap = random.below(4) == 0 ? 1e9 * up_to(40) / 3 : 0;
  }
  return scenario;
}

/// A network with the scenario's resources and shapes, numbered in the given orders.
struct Built {
  FlowNetwork net;
  std::vector<ResourceId> resource;  ///< by number in the scenario
  std::vector<ShapeId> shape;        ///< by number in the scenario
};

std::vector<std::size_t> some_order(std::size_t size, RandomStream& random) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = size; left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

Built build(const Scenario& scenario, RandomStream& random) {
  Built built;
  built.resource.resize(scenario.capacities.size());
  for (const std::size_t index : some_order(scenario.capacities.size(), random)) {
    built.resource[index] = built.net.add_resource(scenario.capacities[index]);
  }
  built.shape.resize(scenario.kinds.size());
  for (const std::size_t index : some_order(scenario.kinds.size(), random)) {
    std::vector<Demand> demands;
    for (const std::size_t at_demand : some_order(scenario.kinds[index].demands.size(), random)) {
      demands.push_back(scenario.kinds[index].demands[at_demand]);
      demands.back().resource = built.resource[demands.back().resource.index()];
    }
    built.shape[index] = add_shape(built.net, demands, scenario.kinds[index].rest);
  }
  return built;
}

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

/// Rate bits of fresh activities of the given kinds in a fresh network, in the order of `kinds`.
std::vector<std::uint64_t> rates_from_scratch(const Scenario& scenario,
                                              const std::vector<std::size_t>& kinds,
                                              RandomStream& random) {
  Built built = build(scenario, random);
  std::vector<ActivityId> activities(kinds.size());
  for (const std::size_t index : some_order(kinds.size(), random)) {
    activities[index] = built.net.start(built.shape[kinds[index]], 1'000'000'000, at(0), 0);
  }
  built.net.resolve(at(0));
  std::vector<std::uint64_t> rates;
  for (const ActivityId activity : activities) {
    rates.push_back(bits(built.net.rate(activity)));
  }
  return rates;
}

std::vector<std::size_t> some_kinds(const Scenario& scenario, RandomStream& random) {
  std::vector<std::size_t> kinds(random.below(16) + 1);
  for (std::size_t& kind : kinds) {
    kind = random.below(scenario.kinds.size());
  }
  return kinds;
}

ReferenceActivity in_real_numbers(const Kind& kind) {
  ReferenceActivity activity{
      .demands = {}, .fairness = static_cast<long double>(kind.rest.fairness), .cap = kind.rest.cap};
  for (const Demand& demand : kind.demands) {
    const auto bytes = static_cast<long double>(demand.weight) * demand.members / kind.rest.divisor;
    activity.demands.emplace_back(demand.resource.index(), bytes);
  }
  return activity;
}

std::vector<double> rates_of(const Scenario& scenario,
                             const std::vector<std::size_t>& kinds,
                             RandomStream& random) {
  std::vector<double> rates;
  for (const std::uint64_t rate : rates_from_scratch(scenario, kinds, random)) {
    rates.push_back(std::bit_cast<double>(rate));
  }
  return rates;
}

/// Load of every resource at the given rates.
std::vector<double> loads_of(const Scenario& scenario,
                             const std::vector<std::size_t>& kinds,
                             const std::vector<double>& rates) {
  std::vector<double> loads(scenario.capacities.size());
  for (std::size_t index = 0; index < kinds.size(); ++index) {
    const Kind& kind = scenario.kinds[kinds[index]];
    for (const Demand& demand : kind.demands) {
      loads[demand.resource.index()] +=
          static_cast<double>(demand.weight) * demand.members / kind.rest.divisor * rates[index];
    }
  }
  return loads;
}

constexpr double kRounding = 1e-12;

}  // namespace

TEST_CASE("no resource carries more than its capacity") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "capacity law");
    const Scenario scenario = some_scenario(seed);
    const std::vector<std::size_t> kinds = some_kinds(scenario, random);
    const std::vector<double> loads = loads_of(scenario, kinds, rates_of(scenario, kinds, random));
    for (std::size_t resource = 0; resource < loads.size(); ++resource) {
      RC_ASSERT(loads[resource] <= scenario.capacities[resource] * (1 + kRounding));
    }
  }));
}

TEST_CASE("every activity runs at its cap or has a full resource where nobody's level is higher") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "bottleneck law");
    const Scenario scenario = some_scenario(seed);
    const std::vector<std::size_t> kinds = some_kinds(scenario, random);
    const std::vector<double> rates = rates_of(scenario, kinds, random);
    const std::vector<double> loads = loads_of(scenario, kinds, rates);
    std::vector<double> highest(loads.size());  // level of the fastest activity on each resource
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      const Kind& kind = scenario.kinds[kinds[index]];
      for (const Demand& demand : kind.demands) {
        double& level = highest[demand.resource.index()];
        level = std::max(level, rates[index] / kind.rest.fairness);
      }
    }
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      const Kind& kind = scenario.kinds[kinds[index]];
      const bool bottleneck =
          std::any_of(kind.demands.begin(), kind.demands.end(), [&](const Demand& demand) {
            const std::size_t resource = demand.resource.index();
            return loads[resource] >= scenario.capacities[resource] * (1 - kRounding) &&
                   rates[index] / kind.rest.fairness >= highest[resource] * (1 - kRounding);
          });
      RC_ASSERT(bottleneck || (kind.rest.cap > 0 && rates[index] == kind.rest.cap));
    }
  }));
}

TEST_CASE("rates agree with textbook progressive filling in real numbers") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "reference law");
    const Scenario scenario = some_scenario(seed);
    const std::vector<std::size_t> kinds = some_kinds(scenario, random);
    const std::vector<double> rates = rates_of(scenario, kinds, random);
    std::vector<ReferenceActivity> activities;
    for (const std::size_t kind : kinds) {
      activities.push_back(in_real_numbers(scenario.kinds[kind]));
    }
    const std::vector<long double> expected =
        reference_rates({scenario.capacities.begin(), scenario.capacities.end()}, activities);
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      RC_ASSERT(rates[index] == Approx(static_cast<double>(expected[index])).epsilon(1e-9));
    }
  }));
}

TEST_CASE("renaming resources, shapes and activities changes no bit of any rate") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "renaming law");
    const Scenario scenario = some_scenario(seed);
    const std::vector<std::size_t> kinds = some_kinds(scenario, random);
    const auto once = rates_from_scratch(scenario, kinds, random);
    RC_ASSERT(once == rates_from_scratch(scenario, kinds, random));
    RC_ASSERT(once == rates_from_scratch(scenario, kinds, random));
  }));
}

TEST_CASE("what else is in the network changes no bit of a rate") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "independence law");
    const Scenario scenario = some_scenario(seed);
    const std::vector<std::size_t> kinds = some_kinds(scenario, random);
    // The same network, and a second one beside it that shares nothing with it.
    Scenario both = scenario;
    const Scenario beside = some_scenario(seed + 1);
    both.capacities.insert(both.capacities.end(), beside.capacities.begin(), beside.capacities.end());
    for (Kind kind : beside.kinds) {
      for (Demand& demand : kind.demands) {
        demand.resource =
            ResourceId{demand.resource.index() + static_cast<std::uint32_t>(scenario.capacities.size())};
      }
      both.kinds.push_back(kind);
    }
    std::vector<std::size_t> more = kinds;
    for (const std::size_t kind : some_kinds(beside, random)) {
      more.push_back(kind + scenario.kinds.size());
    }
    std::vector<std::uint64_t> together = rates_from_scratch(both, more, random);
    together.resize(kinds.size());
    RC_ASSERT(together == rates_from_scratch(scenario, kinds, random));
  }));
}

TEST_CASE("members on one resource change no bit against as many activities of their own") {
  CHECK(rc::check([](std::uint64_t seed) {
    // Kinds over one resource each, with members: folded. Unfolded: one activity per member.
    RandomStream random(seed, "folding law");
    Scenario folded = some_scenario(seed);
    for (Kind& kind : folded.kinds) {
      kind.demands.resize(1);
    }
    Scenario unfolded = folded;
    for (Kind& kind : unfolded.kinds) {
      kind.demands[0].members = 1;
    }
    const std::vector<std::size_t> kinds = some_kinds(folded, random);
    std::vector<std::size_t> copies;
    for (const std::size_t kind : kinds) {
      copies.insert(copies.end(), folded.kinds[kind].demands[0].members, kind);
    }
    const auto once = rates_from_scratch(folded, kinds, random);
    const auto each = rates_from_scratch(unfolded, copies, random);
    std::size_t copy = 0;
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      for (std::uint32_t member = 0; member < folded.kinds[kinds[index]].demands[0].members; ++member) {
        RC_ASSERT(each[copy++] == once[index]);
      }
    }
  }));
}

TEST_CASE("solving what changed equals solving everything, bit for bit") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "incremental law");
    Scenario scenario = some_scenario(seed);
    Built built = build(scenario, random);
    FlowNetwork& net = built.net;
    struct Running {
      ActivityId id;
      std::size_t kind;
    };
    std::map<std::uint64_t, Running> running;  // by tag
    std::uint64_t tags = 0;
    TimePoint now;
    std::vector<Completion> done;
    for (int batch = 0; batch < 25; ++batch) {
      const TimePoint next = net.next_completion();
      const TimePoint soon = now + Duration::from_ps(static_cast<std::int64_t>(random.below(20'000'000)));
      now = next == TimePoint::never() || random.below(3) == 0 ? std::min(soon, next) : next;
      done.clear();
      net.take_completed(now, done);
      for (const Completion& completion : done) {
        RC_ASSERT(running.at(completion.tag).id == completion.activity);
        running.erase(completion.tag);
      }
      for (std::uint64_t starts = random.below(4); starts > 0; --starts) {
        const std::size_t kind = random.below(scenario.kinds.size());
        const auto work = static_cast<std::int64_t>(random.below(1'000'000));
        running[tags] = {net.start(built.shape[kind], work, now, tags), kind};
        ++tags;
      }
      if (random.below(4) == 0) {
        const std::size_t resource = random.below(scenario.capacities.size());
        scenario.capacities[resource] = some_capacity(random);
        net.set_capacity(built.resource[resource], scenario.capacities[resource], now);
      }
      net.resolve(now);

      std::vector<std::size_t> kinds;
      std::vector<std::uint64_t> rates;
      for (const auto& [tag, activity] : running) {
        kinds.push_back(activity.kind);
        rates.push_back(bits(net.rate(activity.id)));
        RC_ASSERT(net.tag(activity.id) == tag);
      }
      RC_ASSERT(net.running() == running.size());
      RC_ASSERT(rates == rates_from_scratch(scenario, kinds, random));
      std::vector<double> values;
      for (const std::uint64_t rate : rates) {
        values.push_back(std::bit_cast<double>(rate));
      }
      const std::vector<double> loads = loads_of(scenario, kinds, values);
      for (std::size_t resource = 0; resource < loads.size(); ++resource) {
        const double load = net.load(built.resource[resource]);
        RC_ASSERT(load == Approx(loads[resource]).epsilon(kRounding));
        RC_ASSERT(load <= net.peak_utilisation(built.resource[resource]) * scenario.capacities[resource] *
                              (1 + kRounding));
        RC_ASSERT(net.peak_utilisation(built.resource[resource]) <= 1);
      }
    }
  }));
}

TEST_CASE("bytes on every resource are those of the work that finished, exactly") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "bytes law");
    const Scenario scenario = some_scenario(seed);
    Built built = build(scenario, random);
    std::vector<std::map<std::uint32_t, std::int64_t>> numerators(scenario.capacities.size());  // by divisor
    std::vector<std::int64_t> works;
    std::vector<std::size_t> kinds;
    for (std::uint64_t tag = 0; tag < 12; ++tag) {
      kinds.push_back(random.below(scenario.kinds.size()));
      works.push_back(static_cast<std::int64_t>(random.below(1000)));
      built.net.start(built.shape[kinds.back()], works.back(), at(0), tag);
    }
    built.net.resolve(at(0));
    for (const auto& [tag, finish] : run_to_end(built.net)) {
      const Kind& kind = scenario.kinds[kinds[tag]];
      for (const Demand& demand : kind.demands) {
        numerators[demand.resource.index()][kind.rest.divisor] += works[tag] * demand.weight * demand.members;
      }
    }
    for (std::size_t resource = 0; resource < numerators.size(); ++resource) {
      Int128 bytes = 0;
      for (const auto& [divisor, numerator] : numerators[resource]) {
        bytes += numerator / divisor;
      }
      RC_ASSERT(built.net.bytes(built.resource[resource]) == bytes);
    }
  }));
}

TEST_CASE("more capacity never slows a lone activity") {
  CHECK(rc::check([](std::uint64_t seed) {
    RandomStream random(seed, "monotone law");
    Scenario scenario = some_scenario(seed);
    const std::vector<std::size_t> kinds = {random.below(scenario.kinds.size())};
    const double before = rates_of(scenario, kinds, random)[0];
    scenario.capacities[random.below(scenario.capacities.size())] *=
        1.0 + static_cast<double>(random.below(100)) / 64;
    RC_ASSERT(rates_of(scenario, kinds, random)[0] >= before);
  }));
}

TEST_CASE("completion times agree with a simulation in real numbers") {
  CHECK(rc::check([](std::uint64_t seed) {
    // Every one of at most 16 completions rounds up by less than 1 ps, and later ones may wait for all
    // of that at a rate of their own; the oracle rounds nothing. Work is small so that the slowest
    // (1/3 byte/s for 40 x 1000 bytes of 16 activities: 1.9e6 s) stays within the range of time.
    RandomStream random(seed, "completion law");
    const Scenario scenario = some_scenario(seed);
    Built built = build(scenario, random);
    const std::vector<std::size_t> kinds = some_kinds(scenario, random);
    std::vector<ReferenceActivity> open;
    std::vector<long double> left;
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      const auto work = static_cast<std::int64_t>(random.below(1'000) + 1);
      built.net.start(built.shape[kinds[index]], work, at(0), index);
      open.push_back(in_real_numbers(scenario.kinds[kinds[index]]));
      left.push_back(static_cast<long double>(work));
    }
    built.net.resolve(at(0));
    const auto finish = run_to_end(built.net);
    std::vector<std::size_t> tags(kinds.size());
    std::iota(tags.begin(), tags.end(), std::size_t{0});
    long double now = 0;
    std::size_t finished = 0;
    while (!open.empty()) {
      const auto rates = reference_rates({scenario.capacities.begin(), scenario.capacities.end()}, open);
      std::size_t first = 0;
      for (std::size_t index = 1; index < open.size(); ++index) {
        first = left[index] * rates[first] < left[first] * rates[index] ? index : first;
      }
      if (!(rates[first] > 0)) {
        break;
      }
      const long double step = left[first] / rates[first];
      for (std::size_t index = 0; index < open.size(); ++index) {
        left[index] -= rates[index] * step;
      }
      now += step;
      ++finished;
      const auto expected = static_cast<double>(now * 1e12L);
      RC_ASSERT(static_cast<double>(finish.at(tags[first])) == Approx(expected).epsilon(1e-9).margin(100));
      const auto at_first = static_cast<std::ptrdiff_t>(first);
      open.erase(open.begin() + at_first);
      left.erase(left.begin() + at_first);
      tags.erase(tags.begin() + at_first);
    }
    RC_ASSERT(finished == finish.size());
  }));
}
