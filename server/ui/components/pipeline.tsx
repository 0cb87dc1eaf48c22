import type { ComponentChildren } from 'preact'
import type { Overview } from '../../client/index.ts'
import * as texts from '../texts/index.ts'
import { authorityName, networkName, Time } from './values.tsx'

/** How far the whole log is: a dashed line is where entries wait. */
export function Pipeline({ log: { recorded, sealed, stamped, anchored } }: { readonly log: Overview['log'] }) {
  const t = texts.overview
  const unsealed = recorded.size - sealed.size
  return (
    <ol class="pipeline">
      <Stop name={t.recorded} size={recorded.size} next={unsealed} />
      <Stop name={t.sealed} size={sealed.size} waiting={unsealed} next={stamped.waiting} at={sealed.at} />
      <Stop name={t.stamped} {...stamped} next={anchored.waiting}>
        {stamped.authority !== undefined && authorityName(stamped.authority)}
      </Stop>
      <Stop name={t.anchored} {...anchored}>
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
  /** How many entries wait for it, and for the next stop. */
  readonly waiting?: number
  readonly next?: number
  readonly at?: string | undefined
  readonly children?: ComponentChildren
}

function Stop({ name, size, waiting = 0, next = 0, at, children }: StopProps) {
  return (
    <li class={`${next > 0 ? 'to-wait' : ''} ${size === 0 ? 'idle' : waiting > 0 ? 'now' : ''}`}>
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
