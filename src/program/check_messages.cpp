#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/fingerprint.hpp"
#include "program/findings.hpp"
#include "program/interfaces.hpp"
#include "program/word.hpp"

namespace stepcast::program {
namespace {

// What an interface sends and receives with one tag.
struct Channel {
  Word sends;
  Word recvs;
};
using Channels = std::map<std::uint32_t, Channel>;  // by tag

std::uint32_t tag_of(const Operation& op) {
  return op.detail == Operation::kNone ? 0 : op.detail;
}

Channels channels_of(const Program& program, const Interface& interface) {
  const auto is_ours = [&](const Operation& op) {
    return std::binary_search(interface.slots.begin(), interface.slots.end(), op.target);
  };
  std::set<std::uint32_t> tags;
  for (const Operation& op : program.operations) {
    if ((op.kind == OpKind::kSend || op.kind == OpKind::kRecv) && is_ours(op)) {
      tags.insert(tag_of(op));
    }
  }
  Channels channels;
  for (const std::uint32_t tag : tags) {
    const auto word_of = [&](OpKind kind) {
      return Word(program, [&](std::uint32_t i) -> std::optional<std::uint64_t> {
        const Operation& op = program.operations[i];
        if (op.kind != kind || tag_of(op) != tag || !is_ours(op)) {
          return std::nullopt;
        }
        return mix(0, static_cast<std::uint64_t>(op.bytes));
      });
    };
    channels.emplace(tag, Channel{word_of(OpKind::kSend), word_of(OpKind::kRecv)});
  }
  return channels;
}

class MessageCheck {
 public:
  MessageCheck(const Programs& programs, config::Diagnostics& diagnostics)
      : programs_(programs),
        diagnostics_(diagnostics),
        meetings_(programs, SlotKind::kPeer, {OpKind::kSend, OpKind::kRecv}) {}

  void run() {
    for (const Interface& interface : meetings_.interfaces()) {
      channels_.push_back(channels_of(programs_.programs[interface.program], interface));
    }
    for (const Meeting& meeting : meetings_.all()) {
      const std::uint32_t reverse = meetings_.find(meeting.other, meeting.rank);
      compare(meeting.rank, meeting.interface, meeting.other, reverse);
      if (reverse == Operation::kNone) {
        compare(meeting.other, reverse, meeting.rank, meeting.interface);
      }
    }
    add_findings(diagnostics_, programs_, findings_, "pairs of ranks");
  }

 private:
  // Sends of one interface against the receives of the other; each pair of interfaces once.
  void compare(std::uint32_t sender,
               std::uint32_t sender_interface,
               std::uint32_t receiver,
               std::uint32_t receiver_interface) {
    const auto [known, is_new] = verdicts_.try_emplace({sender_interface, receiver_interface});
    if (!is_new) {
      for (const std::size_t finding : known->second) {
        ++findings_[finding].cases;
      }
      return;
    }
    const Channels& sends = sender_interface == Operation::kNone ? nothing_ : channels_[sender_interface];
    const Channels& recvs = receiver_interface == Operation::kNone ? nothing_ : channels_[receiver_interface];
    std::set<std::uint32_t> tags;
    for (const auto& [tag, channel] : sends) {
      tags.insert(tag);
    }
    for (const auto& [tag, channel] : recvs) {
      tags.insert(tag);
    }
    for (const std::uint32_t tag : tags) {
      const auto sent = sends.find(tag);
      const auto received = recvs.find(tag);
      const Word& out = sent == sends.end() ? silence_ : sent->second.sends;
      const Word& in = received == recvs.end() ? silence_ : received->second.recvs;
      if (out.digest() != in.digest()) {
        known->second.push_back(findings_.size());
        findings_.push_back(mismatch(sender, out, receiver, in, tag));
      }
    }
  }

  [[nodiscard]] RankFinding mismatch(std::uint32_t sender,
                                     const Word& out,
                                     std::uint32_t receiver,
                                     const Word& in,
                                     std::uint32_t tag) const {
    const std::uint32_t sender_program = programs_.program_of[sender];
    const std::uint32_t receiver_program = programs_.program_of[receiver];
    const Program& from = programs_.programs[sender_program];
    const Program& to = programs_.programs[receiver_program];
    const std::uint64_t at = first_difference(out, in);
    RankFinding finding;
    finding.remedy = "give both sides the same messages in the same order";
    if (at < out.length() && at < in.length()) {
      const std::uint32_t send = out.operation_at(at);
      const std::uint32_t recv = in.operation_at(at);
      finding.program = sender_program;
      finding.operation = send;
      finding.problem = fmt::format(
          "message number {} from rank {} to rank {} with tag {} is sent as {} by {} and received as {} by "
          "{}",
          at + 1, sender, receiver, tag, exact_text(Bytes(from.operations[send].bytes)), describe(from, send),
          exact_text(Bytes(to.operations[recv].bytes)), describe_with_place(to, recv));
      return finding;
    }
    const bool unreceived = at < out.length();
    finding.program = unreceived ? sender_program : receiver_program;
    finding.operation = unreceived ? out.operation_at(at) : in.operation_at(at);
    finding.problem = fmt::format(
        "rank {} sends {} messages to rank {} with tag {}, which receives {}; the first without a {} is {}",
        sender, out.length(), receiver, tag, in.length(), unreceived ? "receive" : "send",
        describe(unreceived ? from : to, finding.operation));
    return finding;
  }

  const Programs& programs_;
  config::Diagnostics& diagnostics_;
  Meetings meetings_;
  Channels nothing_;  // of ranks that do not meet
  Word silence_;
  std::vector<Channels> channels_;  // by interface
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> verdicts_;
  std::vector<RankFinding> findings_;
};

}  // namespace

void check_messages(const Programs& programs, config::Diagnostics& diagnostics) {
  MessageCheck(programs, diagnostics).run();
}

}  // namespace stepcast::program
