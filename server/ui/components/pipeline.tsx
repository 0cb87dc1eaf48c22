import type { ComponentChildren } from 'preact'
import type { Overview } from '../../client/index.ts'
import { texts } from '../texts.ts'
import { authorityName, networkName, Time } from './values.tsx'

/** How far the whole log is: a dashed line is where entries wait. */
export function Pipeline({ log: { recorded, sealed, stamped, anchored } }: { readonly log: Overview['log'] }) {
  const t = texts.overview
  return (
    <ol class="pipeline">
      <Stop name={t.recorded} size={recorded.size} next={sealed.size} />
      <Stop name={t.sealed} size={sealed.size} before={recorded.size} next={stamped.size} at={sealed.at} />
      <Stop name={t.stamped} size={stamped.size} before={sealed.size} next={anchored.size} at={stamped.at}>
        {stamped.authority !== undefined && authorityName(stamped.authority)}
      </Stop>
      <Stop name={t.anchored} size={anchored.size} before={stamped.size} at={anchored.at}>
        {anchored.blockNumber !== undefined && t.block(anchored.blockNumber)}
        {anchored.network !== undefined && ` · ${networkName(anchored.network)}`}
      </Stop>
    </ol>
  )
}

interface StopProps {
  readonly name: string
  /** How many entries have come here. */
  readonly size: number
  readonly before?: number
  readonly next?: number
  readonly at?: string | undefined
  readonly children?: ComponentChildren
}

/** One stop. Entries of the stop before it wait for it. A later stop may cover entries that an earlier one does not. */
function Stop({ name, size, before = size, next = size, at, children }: StopProps) {
  const waiting = Math.max(0, before - size)
  return (
    <li class={`${next < size ? 'to-wait' : ''} ${size === 0 ? 'idle' : waiting > 0 ? 'now' : ''}`}>
      <b>{name}</b>
      <span class="figure">{size.toLocaleString()}</span>
      <span class="small muted">
        {waiting > 0 && <>{texts.overview.waiting(waiting)} · </>}
        {children && <>{children} · </>}
        {at && <Time at={at} isAge />}
      </span>
    </li>
  )
}
