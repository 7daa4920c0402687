// The statements of one functor: nodes in order, memory loaded where it is first needed, results stored at the end.
#pragma once

#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/lower/lower_names.hpp"
#include "generator/pass/lower/lower_views.hpp"

namespace kgen {

struct BodyRequest {
  Functor::Role role = Functor::Role::elementwise;
  std::string name, general;
  LoopSpace space;
  std::vector<NodeId> nodes;        // in execution order
  std::vector<ValueId> stores;      // written to memory by this functor
  std::vector<ValueId> incoming;    // epilogue: what it receives
  std::vector<ValueId> of_row;      // epilogue: the numbers of the row, behind these; row_state: what it returns
  ValueId result = no_id;           // prologue: what it returns; epilogue: what there are statistics of, or none
  bool hold = false;                // fill LoweredBody::held
};

struct LoweredBody {
  Functor functor;
  std::vector<HeldValue> held;      // what it receives and what its nodes make; `functor` is left to the caller
};

// `parameters` holds the stub's values by parameter; what the functor reads must be among them, or a slice of one
// (stub_read).
LoweredBody lower_body(const FuseFacts& facts, const OpSet& ops, const GeneralNames& names, const BodyRequest& request,
                       const std::vector<ValueId>& parameters);

}  // namespace kgen
