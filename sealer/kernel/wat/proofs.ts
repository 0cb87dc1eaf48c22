import type { Statement } from './expression.ts'

/**
 * Inclusion proofs of a tile's leaves, packed: for each, the siblings in the tile's rows `0` to `levels - 1`, then the hashes
 * above, which are the same for all of them. Written out, for there is nothing to generate.
 */
export const proofFunctions: readonly Statement[] = [
  '(func (export "copyProofs")',
  '  (param $tile i32) (param $width i32) (param $levels i32) (param $common i32) (param $commonBytes i32)',
  '  (param $leaf i32) (param $end i32) (param $out i32)',
  '  (local $row i32) (local $rowWidth i32) (local $level i32) (local $from i32) (local $commonEnd i32)',
  '  (local.set $commonEnd (i32.add (local.get $common) (local.get $commonBytes)))',
  '  (block $done (loop $proof',
  '    (br_if $done (i32.ge_u (local.get $leaf) (local.get $end)))',
  '    (local.set $row (local.get $tile))',
  '    (local.set $rowWidth (local.get $width))',
  '    (local.set $level (i32.const 0))',
  '    (block $above (loop $sibling',
  '      (br_if $above (i32.ge_u (local.get $level) (local.get $levels)))',
  '      (local.set $from (i32.add (local.get $row)',
  '        (i32.shl (i32.xor (i32.shr_u (local.get $leaf) (local.get $level)) (i32.const 1)) (i32.const 5))))',
  '      (v128.store (local.get $out) (v128.load (local.get $from)))',
  '      (v128.store offset=16 (local.get $out) (v128.load offset=16 (local.get $from)))',
  '      (local.set $out (i32.add (local.get $out) (i32.const 32)))',
  '      (local.set $row (i32.add (local.get $row) (i32.shl (local.get $rowWidth) (i32.const 5))))',
  '      (local.set $rowWidth (i32.shr_u (local.get $rowWidth) (i32.const 1)))',
  '      (local.set $level (i32.add (local.get $level) (i32.const 1)))',
  '      (br $sibling)))',
  '    (local.set $from (local.get $common))',
  '    (block $next (loop $commonItem',
  '      (br_if $next (i32.ge_u (local.get $from) (local.get $commonEnd)))',
  '      (v128.store (local.get $out) (v128.load (local.get $from)))',
  '      (v128.store offset=16 (local.get $out) (v128.load offset=16 (local.get $from)))',
  '      (local.set $out (i32.add (local.get $out) (i32.const 32)))',
  '      (local.set $from (i32.add (local.get $from) (i32.const 32)))',
  '      (br $commonItem)))',
  '    (local.set $leaf (i32.add (local.get $leaf) (i32.const 1)))',
  '    (br $proof)))',
  ')',
]
