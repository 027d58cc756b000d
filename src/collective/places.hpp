#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepcast::collective {

/// How a group is cut for an algorithm in levels or dimensions: innermost first.
struct Shape {
  std::vector<std::uint32_t> sizes;     ///< members of each level; empty = those of the fabric
  std::vector<std::string> algorithms;  ///< of each level; empty = rings
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// How the members of a group are spread over hosts: all that an algorithm knows of the fabric. A host is
/// what its members reach without the network (an NVLink domain). Members are their indices in the group.
class Places {
 public:
  /// `hosts`: members by host, each member 0 .. n-1 once.
  explicit Places(std::vector<std::vector<std::uint32_t>> hosts);

  /// `hosts` hosts of equal numbers of members, in group order. REQUIRES: members divisible by hosts.
  [[nodiscard]] static Places even(std::uint32_t members, std::uint32_t hosts = 1);

  [[nodiscard]] std::uint32_t members() const { return static_cast<std::uint32_t>(host_of_.size()); }
  [[nodiscard]] std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& hosts() const { return hosts_; }
  [[nodiscard]] std::uint32_t host_of(std::uint32_t member) const { return host_of_[member]; }
  /// Place of a member in its host: `hosts()[host_of(m)][local_of(m)] == m`.
  [[nodiscard]] std::uint32_t local_of(std::uint32_t member) const { return local_of_[member]; }
  [[nodiscard]] bool together(std::uint32_t a, std::uint32_t b) const { return host_of_[a] == host_of_[b]; }

  /// True when every host has as many members as the first.
  [[nodiscard]] bool equal() const { return equal_; }
  /// Members of a host that can each have a NIC of their own: the members of a host when there are several
  /// of equal size, else 1.
  [[nodiscard]] std::uint32_t rails() const {
    return host_count() > 1 && equal_ ? static_cast<std::uint32_t>(hosts_[0].size()) : 1;
  }
  /// Members of the largest host.
  [[nodiscard]] std::uint32_t largest_host() const { return largest_; }
  /// The member of a host that stands at `rail`, counted around the host.
  [[nodiscard]] std::uint32_t at(std::uint32_t host, std::uint32_t rail) const {
    return hosts_[host][rail % hosts_[host].size()];
  }

  /// Levels of the fabric that hold the members, innermost first, their sizes multiplied giving all of them:
  /// hosts, then what joins hosts. Empty when hosts have unequal numbers of members.
  [[nodiscard]] const std::vector<std::uint32_t>& levels() const { return levels_; }
  /// Members in the order of the levels: those of one host, then the next host of the same level ...
  [[nodiscard]] const std::vector<std::uint32_t>& in_order() const { return order_; }
  /// The same members, with levels that the switches between hosts make. `hosts`: hosts() in the order of the
  /// fabric; `sizes`: hosts in a unit, units in the next level ...
  [[nodiscard]] Places with_levels(const std::vector<std::uint32_t>& hosts,
                                   const std::vector<std::uint32_t>& sizes) const;

  /// What was asked for; empty = the algorithm's own choice.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] Places shaped(Shape shape) const;

 private:
  std::vector<std::vector<std::uint32_t>> hosts_;
  std::vector<std::uint32_t> host_of_;
  std::vector<std::uint32_t> local_of_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::uint32_t> order_;
  Shape shape_;
  bool equal_ = true;
  std::uint32_t largest_ = 0;
};

}  // namespace stepcast::collective
