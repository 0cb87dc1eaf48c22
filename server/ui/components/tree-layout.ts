/** A node of the drawing of a tree. */
export interface TreeNode {
  /** Leaves `start` to `end` (exclusive) of the log are below it. */
  readonly start: number
  readonly end: number
  /** In units of one leaf's width. */
  readonly x: number
  /** The number of nodes above it. */
  readonly depth: number
  /** `path`: from the leaf to the root. `sibling`: its hash is part of the proof. `other`: below a sibling. */
  readonly role: 'path' | 'sibling' | 'other'
  /** Whether the nodes below it are left out. */
  readonly isCollapsed: boolean
  readonly parent: TreeNode | undefined
}

/** Where each node of a drawing is. */
export interface TreeLayout {
  /** Parents before their children. */
  readonly nodes: readonly TreeNode[]
  readonly width: number
  readonly depth: number
}

/** Subtrees beside the path with more leaves than this are drawn as one triangle. */
const MAX_DRAWN_LEAVES = 4
const COLLAPSED_WIDTH = 2

/** The largest power of two below `size`: the leaves of the left subtree (RFC 9162 § 2.1.1). */
function leftLeaves(size: number): number {
  let leaves = 1
  while (leaves * 2 < size) leaves *= 2
  return leaves
}

/**
 * Places the nodes of a Merkle tree of `treeSize` leaves, in which the path of a leaf is drawn in full. Large subtrees
 * beside the path are collapsed, so the drawing grows with the depth and not with the size of the tree.
 */
export function layoutTree(treeSize: number, leafIndex: number): TreeLayout {
  interface Draft extends Omit<TreeNode, 'x' | 'parent'> {
    readonly children: readonly Draft[]
    readonly x: number
  }
  let width = 0
  let maxDepth = 0
  const place = (start: number, end: number, depth: number, parentRole: TreeNode['role']): Draft => {
    const isOnPath = start <= leafIndex && leafIndex < end
    const role = isOnPath ? 'path' : parentRole === 'path' ? 'sibling' : 'other'
    maxDepth = Math.max(maxDepth, depth)
    const isCollapsed = !isOnPath && end - start > MAX_DRAWN_LEAVES
    if (isCollapsed || end - start === 1) {
      const units = isCollapsed ? COLLAPSED_WIDTH : 1
      width += units
      return { start, end, depth, role, isCollapsed, children: [], x: width - units / 2 }
    }
    const middle = start + leftLeaves(end - start)
    const children = [place(start, middle, depth + 1, role), place(middle, end, depth + 1, role)]
    const x = children.reduce((sum, child) => sum + child.x, 0) / children.length
    return { start, end, depth, role, isCollapsed, children, x }
  }
  const nodes: TreeNode[] = []
  const collect = ({ children, ...node }: Draft, parent: TreeNode | undefined): void => {
    const placed = { ...node, parent }
    nodes.push(placed)
    for (const child of children) collect(child, placed)
  }
  collect(place(0, treeSize, 0, 'path'), undefined)
  return { nodes, width, depth: maxDepth }
}
