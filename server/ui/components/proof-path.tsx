import type { ProofItem } from '../../client/index.ts'
import { texts } from '../texts.ts'

const [WIDTH, LEVEL, NODE] = [240, 44, 10]
const CENTER = WIDTH / 2
const SIBLING_DISTANCE = 80

interface ProofPathProps {
  /** From the sibling of the leaf to the child of the root. */
  readonly proof: readonly ProofItem[]
}

/**
 * Draws the nodes of a proof: the path from the leaf (at the bottom) to the root in the accent color, and at each level
 * the sibling on its side. The list beside it says the same in text.
 */
export function ProofPath({ proof }: ProofPathProps) {
  const height = (proof.length + 1) * LEVEL
  const yOf = (level: number): number => height - LEVEL / 2 - level * LEVEL
  return (
    <svg class="proof-path" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={texts.log.path}>
      {proof.map(({ hash, position }, level) => {
        const siblingX = CENTER + (position === 'left' ? -SIBLING_DISTANCE : SIBLING_DISTANCE)
        return (
          <g key={hash}>
            <line class="edge" x1={siblingX} y1={yOf(level)} x2={CENTER} y2={yOf(level + 1)} />
            <line class="edge lit" x1={CENTER} y1={yOf(level)} x2={CENTER} y2={yOf(level + 1)} />
            <rect class="node" x={siblingX - NODE} y={yOf(level) - NODE} width={2 * NODE} height={2 * NODE}>
              <title>{hash}</title>
            </rect>
          </g>
        )
      })}
      {Array.from({ length: proof.length + 1 }, (_, level) => (
        <circle key={level} class="node lit" cx={CENTER} cy={yOf(level)} r={NODE} />
      ))}
    </svg>
  )
}
