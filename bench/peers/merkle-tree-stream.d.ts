declare module 'merkle-tree-stream/generator.js' {
  export interface TreeNode {
    readonly index: number
    readonly parent: number
    readonly hash: Uint8Array
    readonly data: Uint8Array | null
  }
  export default class MerkleGenerator {
    constructor(options: { leaf(leaf: TreeNode): Uint8Array; parent(left: TreeNode, right: TreeNode): Uint8Array })
    next(data: Uint8Array): readonly TreeNode[]
  }
}
