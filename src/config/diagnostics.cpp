#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/error.hpp"
#include "config/node.hpp"
#include "config/quote.hpp"

namespace stepcast::config {
namespace {

constexpr std::size_t kMostShown = 20;
constexpr std::size_t kMostKept = 200;

/// A pointer fit for a message: long ones lose their middle.
std::string shown_pointer(std::string_view pointer) {
  constexpr std::size_t kLongest = 100;
  constexpr std::size_t kEnd = 35;
  if (pointer.size() <= kLongest) {
    return printable(pointer, kLongest);
  }
  return printable(pointer, kLongest - kEnd) + printable(pointer.substr(pointer.size() - kEnd), kEnd);
}

std::string with_remedy(std::string_view problem, std::string_view remedy) {
  return remedy.empty() ? std::string(problem) : fmt::format("{}; {}", problem, remedy);
}

}  // namespace

std::string place_text(const Place& place) {
  std::string text = place.file;
  if (place.line > 0) {
    text += fmt::format(":{}:{}", place.line, place.column);
  }
  if (!place.pointer.empty()) {
    text += ": " + shown_pointer(place.pointer);
  }
  return text;
}

void Diagnostics::add(const Place& place, std::string_view problem, std::string_view remedy) {
  wrong_ = true;
  add_unsupported(place, problem, remedy);
}

void Diagnostics::add(std::string_view problem, std::string_view remedy) {
  wrong_ = true;
  add_unsupported(problem, remedy);
}

void Diagnostics::add_unsupported(const Place& place, std::string_view problem, std::string_view remedy) {
  if (place.file.empty()) {
    add_unsupported(problem, remedy);
    return;
  }
  add_message({place.file, place.line, place.column,
               fmt::format("{}: {}", place_text(place), with_remedy(problem, remedy))});
}

void Diagnostics::add_unsupported(std::string_view problem, std::string_view remedy) {
  add_message({{}, 0, 0, with_remedy(problem, remedy)});
}

void Diagnostics::add_message(Message message) {
  if (messages_.size() >= kMostKept) {
    ++count_;
    return;
  }
  const bool known = std::any_of(messages_.begin(), messages_.end(),
                                 [&](const Message& earlier) { return earlier.text == message.text; });
  if (!known) {
    ++count_;
    messages_.push_back(std::move(message));
  }
}

std::string Diagnostics::text() const {
  std::map<std::string_view, std::size_t> rank_of_file;  // files in the order of their first error
  for (const Message& message : messages_) {
    rank_of_file.emplace(message.file, rank_of_file.size());
  }
  std::vector<const Message*> ordered;
  for (const Message& message : messages_) {
    ordered.push_back(&message);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [&](const Message* a, const Message* b) {
    return std::tuple(rank_of_file[a->file], a->line, a->column) <
           std::tuple(rank_of_file[b->file], b->line, b->column);
  });
  std::string text;
  const std::size_t shown = std::min(ordered.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : "\n") + ordered[i]->text;
  }
  if (count_ > shown) {
    text += fmt::format("\nand {} more", count_ - shown);
  }
  return text;
}

void Diagnostics::throw_if_any() const {
  if (empty()) {
    return;
  }
  if (!wrong_) {
    throw UnsupportedError(text());
  }
  throw InputError(text());
}

std::string_view name_of(Evidence evidence) {
  switch (evidence) {
    case Evidence::kNameplate: return "nameplate";
    case Evidence::kMeasured: return "measured";
    case Evidence::kFitted: return "fitted";
    case Evidence::kQuoted: return "quoted";
    case Evidence::kAssumed: return "assumed";
  }
  return "assumed";
}

}  // namespace stepcast::config
