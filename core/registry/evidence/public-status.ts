import type { Evidences } from '../../api/evidences.ts'
import { CompanyId, ExternalId } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { keys } from '../../store/keys.ts'
import { readOne } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { missingEvidence, namedId } from './find.ts'

/** No record has it. */
const NO_ID = ''

/**
 * Whether an evidence is reported stolen, for anyone. The calls are the same for an evidence that does not exist and
 * for one in a closed category, so they tell nothing.
 */
export const publicStatus =
  ({ records }: Context): Evidences['publicStatus'] =>
  async (selector) => {
    const companyId = validate(CompanyId, selector?.companyId, 'companyId')
    const externalId = validate(ExternalId, selector.externalId, 'externalId')
    const [named] = await records.get([keys.externalId(companyId, externalId)])
    const id = named === undefined ? NO_ID : namedId(named)
    const evidence = await readOne(records, keys.evidence(companyId, id))
    const category = await readOne(records, keys.category(companyId, evidence?.categoryId ?? NO_ID))
    if (named !== undefined && evidence === undefined) throw missingEvidence(id)
    if (evidence === undefined || category?.publicStatus !== true) return { state: 'unknown' }
    const { stolenAt } = evidence
    return stolenAt === undefined ? { state: 'active' } : { state: 'stolen', since: new Date(stolenAt) }
  }
