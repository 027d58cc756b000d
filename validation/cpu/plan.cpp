#include "plan.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace testbed {
namespace {

const std::map<std::string, std::set<std::string>> kKnown = {
    {"all_reduce", {"ring", "halving_doubling", "bcube"}},
    {"all_to_all", {"direct", "gloo"}},
    {"all_gather", {"ring"}},
    {"reduce_scatter", {"halving_doubling"}},
    {"broadcast", {"binomial"}},
    {"send_recv", {"direct"}},
};

template <typename T>
bool whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::size_t bytes_of(std::string text, const std::string& place) {
  std::size_t unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M')) {
    unit = text.back() == 'K' ? 1024 : 1024 * 1024;
    text.pop_back();
  }
  std::size_t value = 0;
  constexpr std::size_t kMost = std::size_t{1} << 30;
  if (!whole(text, value) || value == 0 || value > kMost / unit) {
    throw UserError(fmt::format("{}: \"{}\" is no size; write bytes, up to 1024M", place, text));
  }
  return value * unit;
}

Call call_of(const std::vector<std::string>& words, int hosts, const std::string& place) {
  if (words.size() != 4) {
    throw UserError(
        fmt::format("{}: a collective is KIND ALGORITHM RANKS BYTES, not {} words", place, words.size()));
  }
  Call call{words[0], words[1], words[2], ranks_of(words[2], hosts, place), bytes_of(words[3], place)};
  const auto kind = kKnown.find(call.kind);
  if (kind == kKnown.end() || !kind->second.contains(call.algorithm)) {
    std::string known;
    for (const auto& [name, algorithms] : kKnown) {
      known += fmt::format("{}{} {}", known.empty() ? "" : ", ", name, fmt::join(algorithms, "|"));
    }
    throw UserError(
        fmt::format("{}: Gloo has no {} by {}; known: {}", place, call.kind, call.algorithm, known));
  }
  if (call.members.size() < 2) {
    throw UserError(fmt::format("{}: one rank alone sends nothing; give at least two", place));
  }
  const std::size_t piece = sizeof(float) * call.members.size();
  if (call.bytes % piece != 0) {
    throw UserError(
        fmt::format("{}: {} bytes are not whole floats for each of {} ranks; give a multiple of {}", place,
                    call.bytes, call.members.size(), piece));
  }
  return call;
}

}  // namespace

std::vector<int> ranks_of(const std::string& text, int hosts, const std::string& place) {
  std::vector<int> ranks;
  std::stringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    const std::size_t dash = part.find('-');
    int first = 0;
    int last = 0;
    const bool read = whole(std::string_view(part).substr(0, dash), first) &&
                      (dash == std::string::npos || whole(std::string_view(part).substr(dash + 1), last));
    if (dash == std::string::npos) {
      last = first;
    }
    if (!read || first < 0 || last < first || last >= hosts) {
      throw UserError(
          fmt::format("{}: ranks \"{}\": give numbers from 0 to {}, as 0-3,6", place, text, hosts - 1));
    }
    for (int rank = first; rank <= last; ++rank) {
      if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) {
        throw UserError(fmt::format("{}: rank {} occurs twice in \"{}\"", place, rank, text));
      }
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::vector<Run> read_plan(const std::string& path, int hosts) {
  std::ifstream file(path);
  if (!file) {
    throw UserError(fmt::format("{}: cannot be read; check the path", path));
  }
  std::vector<Run> runs;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) {
      all.push_back(word);
    }
    if (all.empty()) {
      continue;
    }
    const std::string place = fmt::format("{}:{}", path, number);
    if (all.size() < 7) {
      throw UserError(
          fmt::format("{}: too few words; write ID GROUP CLUSTER KIND ALGORITHM RANKS BYTES", place));
    }
    Run run{all[0], all[1], all[2], {}};
    std::vector<std::string> one;
    std::set<int> busy;
    const auto add = [&] {
      run.calls.push_back(call_of(one, hosts, place));
      one.clear();
      for (const int rank : run.calls.back().members) {
        if (!busy.insert(rank).second) {
          throw UserError(
              fmt::format("{}: rank {} is in two groups at once; give disjoint groups", place, rank));
        }
      }
    };
    for (std::size_t i = 3; i < all.size(); ++i) {
      if (all[i] == "+") {
        add();
      } else {
        one.push_back(all[i]);
      }
    }
    add();
    runs.push_back(std::move(run));
  }
  if (runs.empty()) {
    throw UserError(fmt::format("{}: no runs; write at least one line", path));
  }
  return runs;
}

std::size_t memory_of(const std::vector<Run>& runs) {
  std::size_t most = 0;
  for (const Run& run : runs) {
    std::size_t sum = 0;
    for (const Call& call : run.calls) {
      sum += 3 * call.bytes * call.members.size();  // input, output, what Gloo receives into
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace testbed
