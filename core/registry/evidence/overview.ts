import type { Overview } from '../../api/overview.ts'
import type { Evidences } from '../../api/evidences.ts'
import { DAY_MS } from '../../ids.ts'
import { DayCounts } from '../../log/day-counts.ts'
import { logKeys } from '../../log/keys.ts'
import { NO_ANCHORS } from '../../log/records.ts'
import { claimOf } from '../../log/attestation-rules.ts'
import { keys } from '../../store/keys.ts'
import { countOf } from '../../store/counter.ts'
import { decodeRecord } from '../../store/codec.ts'
import { readAll } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'

const DAYS = 30
const LAST_CHANGED = 10

/** What a company has, from counters, the ends of two lists and the entries of a day, and how far the log is. */
export function readOverview(context: Context, list: Evidences['list']): Evidences['overview'] {
  const dayCounts = new DayCounts(context.records, context.log.eventTimes)
  return async (scope) => {
    const { companyId } = await enterCompany(context, scope, 'R')
    const today = Math.floor(context.clock.now() / DAY_MS)
    const days = Array.from({ length: DAYS }, (_, i) => today - DAYS + 1 + i)
    const [counters, { items }, log, eventsToday] = await Promise.all([
      context.records.get([
        keys.evidenceCount(['company', companyId]),
        keys.evidenceCount(['stolen', companyId]),
        keys.categoryCount(companyId, undefined),
        keys.fileCount(companyId),
        ...days.map((day) => keys.evidenceCount(['day', companyId, day])),
      ]),
      list(scope, { sort: 'updated', limit: LAST_CHANGED }),
      logProgress(context),
      dayCounts.of(companyId, today * DAY_MS),
    ])
    const [evidences = 0, stolen = 0, categories = 0, files = 0, ...created] = counters.map(countOf)
    return {
      counts: { evidences, stolen, categories, files },
      createdPerDay: days.map((day, i) => ({ day: new Date(day * DAY_MS), count: created[i] ?? 0 })),
      eventsToday,
      lastChanged: items,
      log,
    }
  }
}

/** How far the whole log is: its heads, and then what they name. */
async function logProgress({ records, log }: Pick<Context, 'records' | 'log'>): Promise<Overview['log']> {
  const heads = [logKeys.treeHead(), logKeys.anchorHead()] as const
  const [logSize, [treeEntry, anchorEntry], stamp, partialStamp] = await Promise.all([
    records.logSize(),
    readAll(records, heads),
    log.latestStamp(),
    log.latestPartialStamp(),
  ])
  const tree = decodeRecord(treeEntry)
  const sealed = tree?.size ?? 0
  // Tokens at the end wait for the next event, which may never come: no user waits for them.
  const isIdle = (await log.firstToSeal(sealed, logSize)) === undefined
  const { confirmedSize } = decodeRecord(anchorEntry) ?? NO_ANCHORS
  const newest = (partialStamp?.size ?? 0) > (stamp?.size ?? 0) ? partialStamp : stamp
  const token = newest && claimOf(newest)?.token
  const anchor = await log.anchor(confirmedSize)
  const confirmation = anchor?.confirmation
  /** A step that covers this much of the log. No user waits if the tree has grown by tokens and receipts alone. */
  const step = async (size: number) => ({
    size,
    waiting: (await log.needsAttestation(sealed, size)) ? sealed - size : 0,
  })
  return {
    recorded: { size: isIdle ? sealed : logSize },
    sealed: { size: tree?.size ?? 0, ...(tree && tree.size > 0 && { at: new Date(tree.time) }) },
    stamped: {
      ...(await step(token ? newest.size : 0)),
      ...(token && { at: new Date(token.genTime), authority: token.authority }),
    },
    anchored: {
      ...(await step(confirmation ? confirmedSize : 0)),
      ...(confirmation && {
        at: new Date(confirmation.blockTime),
        network: anchor.info.network,
        blockNumber: confirmation.blockNumber,
      }),
    },
  }
}
