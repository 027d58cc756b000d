#pragma once

#include <cstdint>
#include <vector>

namespace stepcast::collective {

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

 private:
  std::vector<std::vector<std::uint32_t>> hosts_;
  std::vector<std::uint32_t> host_of_;
  std::vector<std::uint32_t> local_of_;
  bool equal_ = true;
  std::uint32_t largest_ = 0;
};

}  // namespace stepcast::collective
