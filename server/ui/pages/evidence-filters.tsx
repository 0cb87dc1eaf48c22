import type { CategoryList, EvidenceFilter } from '../../client/index.ts'
import { SelectField, TextField, useForm } from '../components/form.tsx'
import { toRfc3339, withoutEmpty } from '../format.ts'
import { navigate } from '../router.ts'
import { texts } from '../texts.ts'

/** The filters as they are in the address and in the form: texts, empty if they are not set. */
export type FilterTexts = Readonly<ReturnType<typeof filterTextsOf>>

/** The filters that an address holds. */
export function filterTextsOf(query: URLSearchParams) {
  const text = (name: string): string => query.get(name) ?? ''
  return {
    externalId: text('externalId'),
    owner: text('owner'),
    status: text('status'),
    categoryId: text('categoryId'),
    subcategoryId: text('subcategoryId'),
    createdFrom: text('createdFrom'),
    createdTo: text('createdTo'),
    sort: text('sort'),
  }
}

/** The filter of the request. The address holds local times, the API reads UTC. */
export function filterOf({ status, sort, createdFrom, createdTo, ...rest }: FilterTexts): EvidenceFilter {
  return {
    ...withoutEmpty({ ...rest, createdFrom: toRfc3339(createdFrom), createdTo: toRfc3339(createdTo) }),
    ...((status === 'active' || status === 'stolen') && { status }),
    ...(sort === 'updated' && { sort }),
  }
}

interface EvidenceFiltersProps {
  readonly filters: FilterTexts
  readonly categories: CategoryList['categories']
}

/** The search form. It changes the address, so that a search can be bookmarked and undone with Back. */
export function EvidenceFilters({ filters, categories }: EvidenceFiltersProps) {
  const t = texts.evidences
  const { values, change, props } = useForm(filters)
  const submit = (event: Event): void => {
    event.preventDefault()
    navigate(['evidences'], withoutEmpty(values))
  }
  const subcategories = categories.find(({ id }) => id === values.categoryId)?.subcategories ?? []
  const nameChoices = (list: readonly { readonly id: string; readonly name: string }[]) => [
    ['', t.any] as const,
    ...list.map(({ id, name }) => [id, name] as const),
  ]
  return (
    <form class="card" role="search" onSubmit={submit}>
      <div class="filters">
        <TextField label={t.externalId} hint={t.externalIdHint} type="search" {...props('externalId')} />
        <TextField label={t.owner} hint={t.ownerHint} type="search" {...props('owner')} />
        <SelectField
          label={t.status}
          {...props('status')}
          choices={Object.entries({ '': t.any, active: t.active, stolen: t.stolen })}
        />
        <SelectField
          label={t.category}
          value={values.categoryId}
          onChange={(categoryId) => change({ categoryId, subcategoryId: '' })}
          choices={nameChoices(categories)}
        />
        <SelectField label={t.subcategory} {...props('subcategoryId')} choices={nameChoices(subcategories)} />
        <SelectField label={t.sort} {...props('sort')} choices={Object.entries({ '': t.newest, updated: t.updated })} />
        <TextField label={t.from} type="datetime-local" {...props('createdFrom')} />
        <TextField label={t.to} type="datetime-local" {...props('createdTo')} />
      </div>
      <div class="row">
        <button class="primary" type="submit">
          {t.apply}
        </button>
        <a class="button" href="#/evidences">
          {t.reset}
        </a>
      </div>
    </form>
  )
}
