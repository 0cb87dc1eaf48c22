/** The shapes of the signs, as paths in a square of 24. */
const SHAPES = {
  overview: 'M4 5h6v8H4zM14 5h6v4h-6zM14 13h6v6h-6zM4 17h6v2H4z',
  evidences: 'M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4',
  tag: 'M12 3H4v8l9 9 8-8zM7 7a1 1 0 102 0 1 1 0 10-2 0',
  log:
    'M12 4v4M6 14v-3h12v3M12 8v3M12 11v3M10.4 4a1.6 1.6 0 103.2 0 1.6 1.6 0 10-3.2 0M4 17a2 2 0 104 0 2 2 0 10-4 0' +
    'M10 17a2 2 0 104 0 2 2 0 10-4 0M16 17a2 2 0 104 0 2 2 0 10-4 0',
  verify: 'M12 3l8 3v6c0 5-3.4 8-8 9.5C7.4 20 4 17 4 12V6zM8.5 12l2.5 2.5 4.5-5',
  key: 'M4 15a4 4 0 108 0 4 4 0 10-8 0M11 12l8-8M16 7l3 3M14 9l2 2',
  api: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  more: 'M4 12a1 1 0 102 0 1 1 0 10-2 0M11 12a1 1 0 102 0 1 1 0 10-2 0M18 12a1 1 0 102 0 1 1 0 10-2 0',
  plus: 'M12 5v14M5 12h14',
  clock: 'M3.5 12a8.5 8.5 0 1017 0 8.5 8.5 0 10-17 0M12 7v5l3 2',
  info: 'M3.5 12a8.5 8.5 0 1017 0 8.5 8.5 0 10-17 0M12 11v5M12 8v.01',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  tick: 'M5 12.5l4.5 4.5L19 7',
  found: 'M4 12a8 8 0 1016 0 8 8 0 00-16 0zM8.5 12l2.5 2.5 4.5-5',
  dash: 'M6 12h12',
  down: 'M6 9l6 6 6-6',
  back: 'M15 5l-7 7 7 7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  search: 'M4.5 11a6.5 6.5 0 1013 0 6.5 6.5 0 10-13 0M16 16l4.5 4.5',
  keep: 'M12 15V4M8 8l4-4 4 4M5 13v7h14v-7',
  warning: 'M12 4l9.5 16h-19zM12 10v4M12 17v.01',
  repair: 'M14.5 6.5a4 4 0 015-2l-3 3 .5 2.5 2.5.5 3-3a4 4 0 01-5.5 5L9 20.5 5.5 17z',
  transfer: 'M4 8h14M14 4l4 4-4 4M20 16H6M10 12l-4 4 4 4',
  attach: 'M19 11l-7.5 7.5a4 4 0 01-6-6L13 5a2.8 2.8 0 014 4l-7.5 7.5a1.3 1.3 0 01-2-2L14 8',
  camera: 'M4 8h3l2-3h6l2 3h3v11H4zM8.5 13a3.5 3.5 0 107 0 3.5 3.5 0 10-7 0',
  cross: 'M6 6l12 12M18 6L6 18',
  link: 'M10 14a4 4 0 005.7 0l3-3a4 4 0 00-5.7-5.7l-1 1M14 10a4 4 0 00-5.7 0l-3 3a4 4 0 005.7 5.7l1-1',
  hidden:
    'M4 4l16 16M9.5 6A9.6 9.6 0 0112 5.5C18 5.5 21.5 12 21.5 12a17 17 0 01-3 3.8' +
    'M6 7.7A17 17 0 002.5 12S6 18.5 12 18.5a9.6 9.6 0 004-.9',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  power: 'M12 4v8M7 6.5a7.5 7.5 0 1010 0',
  rotate: 'M4 12a8 8 0 0114-5l2 2M20 4v5h-5M20 12a8 8 0 01-14 5l-2-2M4 20v-5h5',
  bin: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM9 12a3 3 0 106 0 3 3 0 10-6 0',
  print: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
} as const

export type IconName = keyof typeof SHAPES

/** A sign beside a text that says the same. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={SHAPES[name]} />
  </svg>
)

/** The mark of the product: a path through a tree that is also a tick. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" fill="none" stroke="currentColor">
    <circle cx="16" cy="16" r="14" stroke-width="2" />
    <path d="M9 16.5l5 5.5 9.5-12" stroke-width="2.2" stroke-linejoin="round" />
    <g fill="currentColor" stroke="none">
      <circle cx="9" cy="16.5" r="2.6" />
      <circle cx="14" cy="22" r="2.6" />
      <circle cx="23.5" cy="10" r="2.6" />
    </g>
  </svg>
)

const RAYS = 60
const round = (value: number): number => Math.round(value * 10) / 10
const ray = (i: number): string => {
  const at = (radius: number): string => {
    const angle = (2 * Math.PI * i) / RAYS
    return `${round(50 + radius * Math.cos(angle))} ${round(50 + radius * Math.sin(angle))}`
  }
  return `M${at(43)}L${at(48.5)}`
}
const EDGE = Array.from({ length: RAYS }, (_, i) => ray(i)).join('')

/** What a seal says: proven, consistent with itself, not known, wrong, or without a time. */
export type SealKind = 'proven' | 'info' | 'unknown' | 'forged' | 'unstamped'

/** The seal of a verdict. */
export const Seal = ({ kind }: { readonly kind: SealKind }) => (
  <svg class="seal" viewBox="0 0 100 100" aria-hidden="true" fill="none" stroke="currentColor">
    <circle cx="50" cy="50" r="38" stroke-width="3" />
    <path d={EDGE} stroke-width="1.6" />
    {(kind === 'proven' || kind === 'info') && (
      <>
        <path
          d="M31 51l14 15 25-32"
          stroke-width={kind === 'proven' ? 6 : 4}
          stroke-linejoin="round"
          {...(kind === 'info' && { 'stroke-dasharray': '3 6', 'stroke-linecap': 'round' as const })}
        />
        {[
          [31, 51],
          [45, 66],
          [70, 34],
        ].map(([cx, cy]) => (
          <circle key={cx} cx={cx} cy={cy} r="7" fill="currentColor" stroke="none" />
        ))}
      </>
    )}
    {kind === 'unknown' && (
      <>
        <path d="M39 40c0-8 5-12 11-12s12 4 12 11c0 9-11 9-11 18" stroke-width="6" stroke-linecap="round" />
        <circle cx="51" cy="70" r="4" fill="currentColor" stroke="none" />
      </>
    )}
    {kind === 'unstamped' && <path d="M35 50h30" stroke-width="6" stroke-linecap="round" stroke-dasharray="0 10" />}
    {kind === 'forged' && <path d="M36 36l28 28M64 36L36 64" stroke-width="7" stroke-linecap="round" />}
  </svg>
)
