import { formatTime } from '../format.ts'

export interface PlotPoint {
  /** ms since 1970. */
  readonly at: number
  readonly value: number
}

interface PlotProps {
  readonly title: string
  /** What the plot shows, in words. */
  readonly summary: string
  /** In ascending order of their times. */
  readonly points: readonly PlotPoint[]
  readonly format: (value: number) => string
  /** `steps`: the value stays until the next point, and the last value until the end of the axis. */
  readonly kind: 'steps' | 'dots'
}

const [WIDTH, HEIGHT] = [600, 160]
const DOT_RADIUS = 3

/** Values over time. The axis of values begins at 0. */
export function Plot({ title, summary, points, format, kind }: PlotProps) {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return null
  const max = Math.max(...points.map(({ value }) => value))
  const spanMs = last.at - first.at || 1
  const xOf = ({ at }: PlotPoint): number => round(((at - first.at) / spanMs) * WIDTH)
  const yOf = ({ value }: PlotPoint): number => round(HEIGHT - (value / (max || 1)) * HEIGHT)
  const positions = points.map((point) => ({ x: xOf(point), y: yOf(point) }))
  return (
    <figure class="plot">
      <figcaption>
        {title} <span class="muted">{summary}</span>
      </figcaption>
      <div class="plot-area">
        <span class="muted">{format(max)}</span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${summary}`}
        >
          {kind === 'steps' ? (
            <polyline class="line" points={stepsThrough(positions)} />
          ) : (
            positions.map(({ x, y }, i) => (
              <line key={i} class="dot" x1={x} y1={y} x2={x} y2={y} stroke-width={2 * DOT_RADIUS} />
            ))
          )}
        </svg>
        <span class="plot-min muted">0</span>
      </div>
      <div class="between muted">
        <span>{formatTime(first.at)}</span>
        {last.at > first.at && <span>{formatTime(last.at)}</span>}
      </div>
    </figure>
  )
}

const round = (value: number): number => Math.round(value * 10) / 10

/** The points of a line that stays at a value until the next point, and at the last one until the end. */
function stepsThrough(positions: readonly { readonly x: number; readonly y: number }[]): string {
  const steps = positions.flatMap(({ x, y }, i) => {
    const before = positions[i - 1]
    return before === undefined ? [`${x},${y}`] : [`${x},${before.y}`, `${x},${y}`]
  })
  return [...steps, `${WIDTH},${positions.at(-1)?.y}`].join(' ')
}
