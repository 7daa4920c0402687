#include "generator/model/import_rule.hpp"

#include <fmt/format.h>

namespace kgen {

const ImportRule* ImportRules::find(std::string_view domain, std::string_view op, std::int64_t version) const {
  const auto found = rules.find(fmt::format("{}:{}", domain, op));
  if (found == rules.end()) return nullptr;
  for (const ImportRule& rule : found->second) {
    if (first_version(rule) <= version) return &rule;
  }
  return nullptr;
}

std::int64_t ImportRules::first_version(const ImportRule& rule) const {
  return rule.since == 0 && rule.domain.empty() ? oldest : rule.since;
}

}  // namespace kgen
