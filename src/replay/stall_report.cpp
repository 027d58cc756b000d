#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/node.hpp"
#include "replay/simulation.hpp"

// Who waits for what when nothing can happen any more.
namespace stepcast::replay {

std::string Simulation::describe_operation(const StreamState& stream, std::uint32_t operation) const {
  const program::Program& program = programs_.programs[classes_[stream.cls].program];
  const program::Operation& op = program.operations[operation];
  std::string id = fmt::format("{}", operation);
  std::string where;
  if (op.place != program::Operation::kNone) {
    const program::SourcePlace& place = program.places[op.place];
    if (!place.id.empty()) {
      id = fmt::format("\"{}\"", place.id);
    }
    if (!place.file.empty()) {
      where = fmt::format(" at {}:{}", place.file, place.offset);
    }
  } else if (op.label != program::Operation::kNone) {
    id = fmt::format("{} \"{}\"", operation, program.labels[op.label].name);
  }
  return fmt::format("rank {}, operation {} ({}{})", named_rank(stream, operation), id,
                     program::name_of(op.kind), where);
}

/// The rank of a class that messages name: at a site, one that meets the other members named there.
std::uint32_t Simulation::named_rank(const StreamState& stream, std::uint32_t operation) const {
  const std::uint32_t index = wiring_.endpoint_index[classes_[stream.cls].program][operation];
  if (index == kNone) {
    return partition_.ranks.representative[stream.cls];
  }
  const Endpoint& endpoint = wiring_.endpoints[stream.cls][index];
  return wiring_.member_rank[wiring_.sites[endpoint.site].first_member + endpoint.member];
}

std::string Simulation::describe_wait(const StreamState& stream) const {
  const ClassState& cls = classes_[stream.cls];
  const program::Program& program = programs_.programs[cls.program];
  const std::uint32_t operation = head_operation(stream);
  if (!stream.running) {
    const program::Operation& op = program.operations[operation];
    const std::uint32_t before = program.dependencies[op.first_dependency + stream.next_dependency].operation;
    return fmt::format("waits for its own {}", describe_operation(stream, before));
  }
  const Endpoint& endpoint = wiring_.endpoints[stream.cls][wiring_.endpoint_index[cls.program][operation]];
  const SiteClass& site = wiring_.sites[endpoint.site];
  const SiteState& state = sites_[endpoint.site];
  for (const std::uint32_t index : state.open) {
    if (index == kNone) {
      continue;
    }
    const Instance& instance = instances_[index];
    std::vector<bool> here(site.members, false);
    bool mine = false;
    for (const Arrival& arrival : instance.arrivals) {
      here[arrival.member] = true;
      mine = mine || &streams_[arrival.stream] == &stream;
    }
    if (!mine) {
      continue;
    }
    if (instance.started) {
      return down_links_text().empty()
                 ? "is in a transfer that would last beyond the range of 106 days; give it fewer bytes"
                 : "is in a transfer that does not end";
    }
    if (site.kind == Site::Kind::kMessages) {
      return endpoint.member == 0
                 ? fmt::format("waits for rank {} to receive message {} (tag {})",
                               wiring_.member_rank[site.first_member + 1], instance.sequence + 1, site.tag)
                 : fmt::format("waits for rank {} to send message {} (tag {})",
                               wiring_.member_rank[site.first_member], instance.sequence + 1, site.tag);
    }
    std::string missing;
    std::size_t shown = 0;
    for (std::uint32_t member = 0; member < site.members && shown < 8; ++member) {
      if (!here[member]) {
        missing +=
            fmt::format("{}{}", shown == 0 ? "" : ", ", wiring_.member_rank[site.first_member + member]);
        ++shown;
      }
    }
    const std::string& name =
        site.group < programs_.group_names.size() ? programs_.group_names[site.group] : std::string();
    return fmt::format("waits in call {} on group {} for rank(s) {}", instance.sequence + 1,
                       name.empty() ? fmt::format("{}", site.group) : fmt::format("\"{}\"", name), missing);
  }
  return "waits";
}

std::string Simulation::down_links_text() const {
  std::string text;
  const auto& faults = router_.cluster().faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const topology::Fault& fault = faults[i];
    const bool down = fault.target == topology::Fault::Target::kLink && fault.factor == 0;
    // A link that is down from the start and for good is routed around.
    if (down && fault_active_[i] && fault.at != TimePoint()) {
      config::Diagnostics where;
      where.add(fault.place,
                fmt::format("link \"{}\" is down from {:g} s on and for good", fault.link,
                            fault.at.since_start().seconds()),
                "give it \"until\" or a factor above 0; from \"0 s\" it would be routed around");
      text += "\n" + where.text();
    }
  }
  return text;
}

std::string Simulation::stall_text() const {
  constexpr std::size_t kMostLines = 12;
  std::size_t classes = 0;
  std::uint64_t waiting = 0;  // streams of all ranks
  std::string lines;
  for (const StreamState& stream : streams_) {
    if (stream.finished) {
      continue;
    }
    const std::uint32_t size = partition_.ranks.size[stream.cls];
    waiting += size;
    if (classes++ < kMostLines) {
      lines +=
          fmt::format("\n  {} {}", describe_operation(stream, head_operation(stream)), describe_wait(stream));
      lines +=
          size > 1 ? fmt::format(" ({} rank(s) like it; --fold off names all)", size - 1) : std::string();
    }
  }
  std::string text = fmt::format(
      "the program cannot finish: after {:.6f} s nothing can happen any more and {} stream(s) wait",
      static_cast<double>(now_) * 1e-12, waiting);
  text += lines;
  if (classes > kMostLines) {
    text += fmt::format("\n  ... and {} more", classes - kMostLines);
  }
  text += down_links_text();
  return text;
}

}  // namespace stepcast::replay
