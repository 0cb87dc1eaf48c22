import { formatTime } from '../format.ts'

export interface PlotPoint {
  /** ms since 1970. */
  readonly at: number
  readonly value: number
}

interface PlotProps {
  /** What the plot shows, in words. */
  readonly summary: string
  /** In ascending order of their times. */
  readonly points: readonly PlotPoint[]
  readonly format: (value: number) => string
  /**
   * `steps`: a line over time that stays at a value until the next point, and at the last one until the end of the axis.
   * `bars`: a bar for each point, from 0.
   */
  readonly kind: 'steps' | 'bars'
}

const [WIDTH, HEIGHT] = [600, 80]
/** The part of its place that a bar takes. */
const BAR = 0.7

/** Values over time, with labels beside them. */
export function Plot({ summary, points, format, kind }: PlotProps) {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return null
  const max = Math.max(...points.map(({ value }) => value))
  const min = kind === 'bars' ? 0 : Math.min(...points.map(({ value }) => value))
  const heightOf = ({ value }: PlotPoint): number => round(((value - min) / (max - min || 1)) * HEIGHT)
  return (
    <div class="bars">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line key={y} x1="0" x2={WIDTH} y1={y} y2={y} />
        ))}
        {kind === 'steps' ? (
          <polyline points={stepsThrough(points.map((point) => ({ at: point.at, y: HEIGHT - heightOf(point) })))} />
        ) : (
          points.map((point, i) => {
            const [width, height] = [WIDTH / points.length, heightOf(point)]
            return (
              <rect key={i} x={round(i * width)} y={HEIGHT - height} width={round(BAR * width)} height={height}>
                <title>{`${formatTime(point.at)}: ${format(point.value)}`}</title>
              </rect>
            )
          })
        )}
      </svg>
      <div class="column y tiny muted" aria-hidden="true">
        <span>{format(max)}</span>
        <span>{format(min)}</span>
      </div>
      <div class="between x tiny muted" aria-hidden="true">
        <span>{formatTime(first.at)}</span>
        {last.at > first.at && <span>{formatTime(last.at)}</span>}
      </div>
    </div>
  )
}

const round = (value: number): number => Math.round(value * 10) / 10

/** The points of a line that stays at a value until the next point, and at the last one until the end. */
function stepsThrough(points: readonly { readonly at: number; readonly y: number }[]): string {
  const [start = 0, end = 0] = [points[0]?.at, points.at(-1)?.at]
  const steps = points.flatMap(({ at, y }, i) => {
    const x = round(((at - start) / (end - start || 1)) * WIDTH)
    const before = points[i - 1]
    return before === undefined ? [`${x},${y}`] : [`${x},${before.y}`, `${x},${y}`]
  })
  return [...steps, `${WIDTH},${points.at(-1)?.y}`].join(' ')
}
