#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

#include "collective/collective.hpp"
#include "support/catch.hpp"

using namespace stepcast::collective;

namespace {

/// Members over hosts in the ways that 1 to 17 of them can be: together, evenly, one a host, unequally.
std::vector<Places> placings(std::uint32_t members) {
  std::vector<Places> all;
  for (std::uint32_t hosts = 1; hosts <= members; ++hosts) {
    if (members % hosts == 0) {
      all.push_back(Places::even(members, hosts));
    }
  }
  if (members >= 3) {
    // Members of two hosts in turn; the first host has one more, or two.
    std::vector<std::vector<std::uint32_t>> hosts(2);
    for (std::uint32_t member = 0; member < members; ++member) {
      hosts[member % 2 == 0 || member + 1 == members ? 0 : 1].push_back(member);
    }
    all.emplace_back(std::move(hosts));
  }
  return all;
}

/// The same for algorithms in levels: as they choose themselves, and in shapes that fit.
std::vector<Places> shapes_of(const Algorithm& algorithm, const Places& places) {
  std::vector<Places> all{places};
  if (!algorithm.shaped) {
    return all;
  }
  const std::uint32_t n = places.members();
  const std::vector<std::string> names{"ring", "tree", "halving_doubling", "direct", "nvls"};
  std::size_t turn = n;  // every algorithm in every level for some number of members
  const auto add = [&](std::vector<std::uint32_t> sizes) {
    Shape shape{std::move(sizes), {}};
    all.push_back(places.shaped(shape));
    for (int draw = 0; draw < (n <= 8 ? 3 : 1); ++draw) {
      shape.algorithms.clear();
      for (std::size_t level = 0; level < shape.sizes.size(); ++level) {
        shape.algorithms.push_back(names[(turn += 1 + level) % names.size()]);
      }
      all.push_back(places.shaped(shape));
    }
  };
  for (std::uint32_t first = 1; first <= n; ++first) {
    if (n % first == 0) {
      add({first, n / first});
    }
    for (std::uint32_t second = 2; n % first == 0 && second < n / first; ++second) {
      if (n / first % second == 0) {
        add({first, second, n / first / second});
      }
    }
  }
  return all;
}

/// True when the algorithm has no objection to such a group, whatever the cluster.
bool takes(const Algorithm& algorithm, const Places& places) {
  return algorithm.fits == nullptr || algorithm.fits(places).empty();
}

/// Places and shapes of so many members that an algorithm takes.
std::vector<Places> drawn(const Algorithm& algorithm, std::uint32_t members) {
  std::vector<Places> all;
  for (const Places& placed : placings(members)) {
    for (const Places& places : shapes_of(algorithm, placed)) {
      if (takes(algorithm, places)) {
        all.push_back(places);
      }
    }
  }
  return all;
}

using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// Share of the buffer that each rank gives each other one; all switches are one rank.
std::map<Pair, double> shares_sent(const Schedule& schedule) {
  std::map<Pair, double> sent;
  for (const Lane& lane : schedule.lanes) {
    for (const Step& step : lane.steps) {
      if (sends(step.action)) {
        const ChunkRange& range = step.action == Action::kRecvCopySend ? step.destination : step.source;
        sent[{std::min(lane.rank, schedule.members), std::min(step.send_peer, schedule.members)}] +=
            static_cast<double>(range.count) / schedule.chunks;
      }
    }
  }
  return sent;
}

/// The same of the coupled form.
std::map<Pair, double> shares_coupled(const Pattern& pattern,
                                      const std::vector<SteadyState>& steady,
                                      const Places& places,
                                      std::uint32_t channels) {
  std::map<Pair, double> sent;
  for (std::size_t phase = 0; phase < steady.size(); ++phase) {
    const double share = static_cast<double>(steady[phase].share_numerator) /
                         static_cast<double>(steady[phase].share_denominator) / channels;
    for (const Edge& edge : pattern.phases[phase]) {
      if (edge.via != Via::kTree) {
        sent[{edge.via == Via::kDown ? places.members() : edge.from,
              edge.via == Via::kUp ? places.members() : edge.to}] += edge.weight * share;
      }
    }
  }
  return sent;
}

}  // namespace

TEST_CASE("every algorithm keeps its promise for any number of members and channels", "[collective]") {
  for (const Algorithm& algorithm : algorithms()) {
    for (std::uint32_t members = 1; members <= 17; ++members) {
      for (const Places& places : drawn(algorithm, members)) {
        for (std::uint32_t channels = 1; channels <= 3; ++channels) {
          const Schedule schedule = algorithm.schedule(places, channels, members / 2);
          const CheckResult result = check(schedule);
          CAPTURE(algorithm.name, members, places.host_count(), places.shape().sizes,
                  places.shape().algorithms, channels, result.problem);
          CHECK(result.ok);
          CHECK(schedule.kind == algorithm.kind);
          CHECK(schedule.members == members);
          CHECK(schedule.channels == channels);
        }
      }
    }
  }
}

TEST_CASE("every algorithm keeps its promise for 64 members", "[collective]") {
  for (const Algorithm& algorithm : algorithms()) {
    const Places places = Places::even(64, takes(algorithm, Places::even(64, 8)) ? 8 : 64);
    const CheckResult result = check(algorithm.schedule(places, 2, 0));
    CAPTURE(algorithm.name, result.problem);
    CHECK(result.ok);
  }
}

TEST_CASE("the coupled form of an algorithm moves what its schedule moves", "[collective]") {
  for (const Algorithm& algorithm : algorithms()) {
    for (std::uint32_t members = 2; members <= 12; ++members) {
      for (const Places& places : drawn(algorithm, members)) {
        for (std::uint32_t channels = 1; channels <= 3; ++channels) {
          const std::uint32_t root = members / 2;
          CAPTURE(algorithm.name, members, places.host_count(), places.shape().sizes,
                  places.shape().algorithms, channels);
          const Schedule schedule = algorithm.schedule(places, channels, root);
          const Pattern pattern = algorithm.pattern(places, channels, root);
          const auto steady = algorithm.steady_states({.places = places,
                                                       .channels = channels,
                                                       .crossing_hops = 0,
                                                       .root = root,
                                                       .bytes = stepcast::Bytes(1'000'000'000),
                                                       .host_channels = 8});
          REQUIRE(steady.size() == pattern.phases.size());
          const auto sent = shares_sent(schedule);
          const auto coupled = shares_coupled(pattern, steady, places, channels);
          CHECK(sent.size() == coupled.size());
          for (const auto& [pair, share] : sent) {
            CAPTURE(pair.first, pair.second);
            REQUIRE(coupled.count(pair) == 1);
            CHECK(coupled.at(pair) == Approx(share).epsilon(1e-9));
          }
          double messages = 0;
          for (const Lane& lane : schedule.lanes) {
            const auto sending = std::count_if(lane.steps.begin(), lane.steps.end(),
                                               [](const Step& step) { return sends(step.action); });
            messages += static_cast<double>(sending);
            if (steady[0].even) {
              // k sequential hops: a lane makes as many sends one after the other.
              CHECK(sending == steady[0].steps);
            }
          }
          CHECK(messages <= algorithm.messages(places, channels));
          CHECK(messages * 3 >= algorithm.messages(places, channels));
        }
      }
    }
  }
}

TEST_CASE("a schedule with any one step left out is refused", "[collective]") {
  CHECK(rc::check("a missing step is found", [] {
    const auto all = algorithms();
    const Algorithm& algorithm = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto members = *rc::gen::inRange<std::uint32_t>(2, 9);
    const auto channels = *rc::gen::inRange<std::uint32_t>(1, 4);
    const Places places = Places::even(members, takes(algorithm, Places::even(members)) ? 1 : members);
    Schedule schedule = algorithm.schedule(places, channels, 0);
    Lane& lane = schedule.lanes[*rc::gen::inRange<std::size_t>(0, schedule.lanes.size())];
    RC_PRE(!lane.steps.empty());
    const auto gone = *rc::gen::inRange<std::size_t>(0, lane.steps.size());
    lane.steps.erase(lane.steps.begin() + static_cast<std::ptrdiff_t>(gone));
    RC_ASSERT(!check(schedule).ok);
  }));
}

TEST_CASE("a step that reads another chunk is refused", "[collective]") {
  CHECK(rc::check("a wrong chunk is found", [] {
    const auto all = algorithms();
    const Algorithm& algorithm = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto members = *rc::gen::inRange<std::uint32_t>(3, 9);
    const Places places = Places::even(members, takes(algorithm, Places::even(members)) ? 1 : members);
    Schedule schedule = algorithm.schedule(places, 2, 0);
    Lane& lane = schedule.lanes[*rc::gen::inRange<std::size_t>(0, schedule.lanes.size())];
    RC_PRE(!lane.steps.empty() && lane.steps.front().action == Action::kSend);
    Step& first = lane.steps.front();
    first.source.offset = (first.source.offset + 1) % schedule.chunks;
    RC_ASSERT(!check(schedule).ok);
  }));
}
