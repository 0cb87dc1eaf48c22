import type { ProofItem } from '../../client/index.ts'
import * as texts from '../texts/index.ts'
import { layoutTree, type TreeNode } from './tree-layout.ts'

const [UNIT, LEVEL, RADIUS] = [26, 40, 7]

interface ProofTreeProps {
  readonly treeSize: number
  readonly leafIndex: number
  /** The first leaf of the batch of the leaf. */
  readonly batchStart: number
  /** From the sibling of the leaf to the child of the root. */
  readonly proof: readonly ProofItem[]
}

/**
 * Draws the tree at the end of a batch. The path from the leaf to the root and the nodes of the proof are highlighted,
 * and the leaves of the batch are marked. The list beside it says the same in text.
 */
export function ProofTree({ treeSize, leafIndex, batchStart, proof }: ProofTreeProps) {
  const { nodes, width, depth } = layoutTree(treeSize, leafIndex)
  const size = { width: width * UNIT, height: (depth + 1) * LEVEL }
  const lit = (node: TreeNode): string => (node.role === 'path' ? 'lit' : '')
  const hashOf = (node: TreeNode): string | undefined =>
    node.role === 'sibling' ? proof[proof.length - node.depth]?.hash : undefined
  return (
    <div class="tree-scroll" tabIndex={0} role="region" aria-label={texts.log.path}>
      <svg
        class="proof-tree"
        {...size}
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={texts.log.tree}
      >
        {nodes.map(
          (node) =>
            node.parent && (
              <line
                key={`${node.start}-${node.end}`}
                class={`edge ${lit(node)}`}
                x1={xOf(node)}
                y1={yOf(node)}
                x2={xOf(node.parent)}
                y2={yOf(node.parent)}
              />
            ),
        )}
        {nodes.map((node) => (
          <g key={`${node.start}-${node.end}`} class={`node ${node.role}`}>
            <title>{[texts.log.leaves(node.start, node.end), hashOf(node)].filter(Boolean).join('\n')}</title>
            <NodeShape node={node} isInBatch={node.end - node.start === 1 && node.start >= batchStart} />
          </g>
        ))}
      </svg>
    </div>
  )
}

const xOf = ({ x }: TreeNode): number => x * UNIT
const yOf = ({ depth }: TreeNode): number => depth * LEVEL + LEVEL / 2

/** A circle for a node, a square for a leaf, a triangle for a subtree whose nodes are left out. */
function NodeShape({ node, isInBatch }: { readonly node: TreeNode; readonly isInBatch: boolean }) {
  const [x, y] = [xOf(node), yOf(node)]
  const count = node.end - node.start
  if (node.isCollapsed)
    return (
      <>
        <path d={`M${x} ${y - RADIUS}L${x + UNIT * 0.8} ${y + RADIUS}H${x - UNIT * 0.8}Z`} />
        <text x={x} y={y + RADIUS + 11} text-anchor="middle">
          {count.toLocaleString()}
        </text>
      </>
    )
  if (count > 1) return <circle cx={x} cy={y} r={RADIUS} />
  return (
    <>
      <rect x={x - RADIUS} y={y - RADIUS} width={2 * RADIUS} height={2 * RADIUS} />
      {isInBatch && <line class="in-batch" x1={x - RADIUS} y1={y + RADIUS + 4} x2={x + RADIUS} y2={y + RADIUS + 4} />}
    </>
  )
}
