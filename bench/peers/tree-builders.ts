import { libraryInline, libraryPooled } from '../workload/library-tree.ts'
import type { TreeBuilder } from '../workload/tree-builder.ts'
import {
  createHashByHand,
  fixedMerkleTreePackage,
  merkletreejs,
  merkleTreeStream,
  oneShotHashByHand,
  openZeppelin,
  persistentMerkleTree,
} from './npm-trees.ts'

/** All implementations that `engine` compares, in the order of its table. */
export const TREE_BUILDERS: Readonly<Record<string, () => TreeBuilder>> = {
  libraryInline,
  libraryPooled: () => libraryPooled(4),
  createHashByHand,
  oneShotHashByHand,
  merkletreejs,
  persistentMerkleTree,
  fixedMerkleTree: fixedMerkleTreePackage,
  merkleTreeStream,
  openZeppelin,
}
