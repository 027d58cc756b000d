#include "collective/places.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace stepcast::collective {

Places::Places(std::vector<std::vector<std::uint32_t>> hosts) : hosts_(std::move(hosts)) {
  std::size_t members = 0;
  for (const auto& host : hosts_) {
    STEPCAST_CHECK(!host.empty(), "a host without members");
    members += host.size();
    equal_ = equal_ && host.size() == hosts_[0].size();
    largest_ = std::max(largest_, static_cast<std::uint32_t>(host.size()));
  }
  STEPCAST_CHECK(members > 0, "a group without members");
  constexpr std::uint32_t kNowhere = 0xffffffffU;
  host_of_.assign(members, kNowhere);
  local_of_.assign(members, 0);
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    for (std::uint32_t local = 0; local < hosts_[host].size(); ++local) {
      const std::uint32_t member = hosts_[host][local];
      STEPCAST_CHECK(member < members && host_of_[member] == kNowhere, "member {} of {}", member, members);
      host_of_[member] = host;
      local_of_[member] = local;
      order_.push_back(member);
    }
  }
  if (equal_) {
    for (const std::uint32_t size : {largest_, host_count()}) {
      if (size > 1) {
        levels_.push_back(size);
      }
    }
  }
}

Places Places::with_levels(const std::vector<std::uint32_t>& hosts,
                           const std::vector<std::uint32_t>& sizes) const {
  STEPCAST_CHECK(equal_ && hosts.size() == hosts_.size(), "levels of {} hosts", hosts.size());
  Places made = *this;
  made.order_.clear();
  for (const std::uint32_t host : hosts) {
    made.order_.insert(made.order_.end(), hosts_[host].begin(), hosts_[host].end());
  }
  made.levels_.clear();
  if (largest_ > 1) {
    made.levels_.push_back(largest_);
  }
  made.levels_.insert(made.levels_.end(), sizes.begin(), sizes.end());
  return made;
}

Places Places::shaped(Shape shape) const {
  Places made = *this;
  made.shape_ = std::move(shape);
  return made;
}

Places Places::even(std::uint32_t members, std::uint32_t hosts) {
  STEPCAST_CHECK(hosts > 0 && members % hosts == 0, "{} members on {} hosts", members, hosts);
  const std::uint32_t per_host = members / hosts;
  std::vector<std::vector<std::uint32_t>> by_host(hosts);
  for (std::uint32_t member = 0; member < members; ++member) {
    by_host[member / per_host].push_back(member);
  }
  return Places(std::move(by_host));
}

}  // namespace stepcast::collective
