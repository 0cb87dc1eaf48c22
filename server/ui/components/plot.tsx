import type { ComponentChildren } from 'preact'
import { formatTime } from '../format.ts'

interface PlotPoint {
  /** ms since 1970. */
  readonly at: number
  readonly value: number
}

const [WIDTH, HEIGHT] = [600, 80]
/** The part of its place that a bar takes. */
const BAR = 0.7

interface ChartProps {
  /** What it shows, in words. */
  readonly summary: string
  /** The labels of the axes: from the top, and from the left. */
  readonly y: readonly string[]
  readonly x: readonly string[]
}

/** Lines at the top, the middle and the bottom, with labels beside them. */
const Chart = ({ summary, y, x, children }: ChartProps & { readonly children: ComponentChildren }) => (
  <div class="bars">
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
      {[0, HEIGHT / 2, HEIGHT].map((at) => (
        <line key={at} x1="0" x2={WIDTH} y1={at} y2={at} />
      ))}
      {children}
    </svg>
    {Object.entries({ 'column y': y, 'between x': x }).map(([axis, labels]) => (
      <div key={axis} class={`${axis} tiny muted`} aria-hidden="true">
        {labels.map((label, i) => (
          <span key={i}>{label}</span>
        ))}
      </div>
    ))}
  </div>
)

interface BarPlotProps extends ChartProps {
  readonly bars: readonly { readonly title: string; readonly value: number; readonly isToday?: boolean }[]
  /** The value at the top of the axis, which begins at 0. */
  readonly end: number
}

/** A bar for each value. */
export const BarPlot = ({ bars, end, ...chart }: BarPlotProps) => (
  <Chart {...chart}>
    {bars.map(({ title, value, isToday = false }, i) => {
      const [place, height] = [WIDTH / bars.length, round((value / end) * HEIGHT)]
      const x = round((i + (1 - BAR) / 2) * place)
      return (
        <rect
          key={i}
          x={x}
          y={HEIGHT - height}
          width={round(BAR * place)}
          height={height}
          class={isToday ? 'today' : undefined}
        >
          <title>{title}</title>
        </rect>
      )
    })}
  </Chart>
)

interface StepPlotProps extends Pick<ChartProps, 'summary'> {
  /** In ascending order of their times. */
  readonly points: readonly PlotPoint[]
}

/** A line over time that stays at a value until the next point, and at the last one until the end of the axis. */
export function StepPlot({ summary, points }: StepPlotProps) {
  const values = points.map(({ value }) => value)
  const [max, min] = [Math.max(...values), Math.min(...values)]
  const line = points.map(({ at, value }) => ({ at, y: HEIGHT - round(((value - min) / (max - min || 1)) * HEIGHT) }))
  return (
    <Chart summary={summary} y={[max, min].map((value) => value.toLocaleString())} x={timesOf(points)}>
      <polyline points={stepsThrough(line)} />
    </Chart>
  )
}

/** The labels of an axis of time. */
export function timesOf(points: readonly PlotPoint[]): readonly string[] {
  const ends = [points[0], points.at(-1)].flatMap((point) => point?.at ?? [])
  return [...new Set(ends)].map(formatTime)
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
