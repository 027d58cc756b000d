#include "replay/partition.hpp"

namespace stepcast::replay {

Partition identity_partition(const program::Programs& programs) {
  Partition partition;
  partition.class_of.reserve(programs.ranks);
  partition.representative.reserve(programs.ranks);
  for (std::uint32_t rank = 0; rank < programs.ranks; ++rank) {
    partition.class_of.push_back(ClassId{rank});
    partition.representative.push_back(RankId{rank});
    partition.size.push_back(1);
  }
  for (std::uint32_t group = 0; group < programs.groups.size(); ++group) {
    Partition::GroupClass group_class;
    group_class.representative = GroupId{group};
    const std::uint32_t size = programs.groups[GroupId{group}].size();
    group_class.classes.reserve(size);
    group_class.member_class.reserve(size);
    for (std::uint32_t member = 0; member < size; ++member) {
      group_class.classes.push_back(ClassId{programs.groups[GroupId{group}].rank(member).index()});
      group_class.member_class.push_back(member);
    }
    partition.group_classes.push_back(std::move(group_class));
    partition.group_class_of.push_back(group);
  }
  return partition;
}

}  // namespace stepcast::replay
