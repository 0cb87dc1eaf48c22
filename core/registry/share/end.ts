import type { Shares } from '../../api/shares.ts'
import { RegistryError } from '../../errors.ts'
import { IdToFind } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { putRecord } from '../../store/entries.ts'
import { keys } from '../../store/keys.ts'
import { requireRecord } from '../../store/read.ts'
import { auditChanges } from '../company/audit.ts'
import type { Context } from '../context.ts'
import { readEvidence } from '../evidence/find.ts'
import { enterCompany, permits } from '../permissions.ts'
import { shareNotFound } from './stored-share.ts'

/** Ends a share. Holds while it is as it was read. */
export const endShare =
  (context: Context): Shares['end'] =>
  async (scope, externalId, shareId) => {
    const entered = await enterCompany(context, scope, 'R')
    validate(IdToFind, shareId, 'shareId')
    const { record: evidence } = await readEvidence(context, entered, externalId)
    await context.write(undefined, async ({ now }) => {
      const { record: share, check } = await requireRecord(context.records, keys.share(shareId), shareNotFound)
      if (share.evidence !== evidence.id || share.company !== evidence.company) throw shareNotFound()
      if (share.actor !== entered.actor && !permits(entered.principal, 'U'))
        throw new RegistryError('FORBIDDEN', 'Level R ends only its own links: others require level U')
      if (share.endedAt !== undefined) return { commit: {}, result: null }
      const entry = { id: context.ids.next<string>(), at: now, actor: entered.actor }
      const audit = auditChanges(share.company, [
        { ...entry, type: 'shareEnded', evidenceId: share.evidence, shareId: share.id },
      ])
      const writes = [putRecord(keys.share(share.id), { ...share, endedAt: now }), ...audit.writes]
      return { commit: { checks: [check], writes, adds: audit.adds }, result: null }
    })
  }
