import { useEffect, useRef } from 'preact/hooks'
import type { CategoryList, EvidenceFilter } from '../../client/index.ts'
import { SelectField, TextField } from '../components/fields.tsx'
import { useForm, type FormTexts } from '../components/use-form.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { toRfc3339, withoutEmpty } from '../format.ts'
import { navigate } from '../router.ts'
import { texts } from '../texts.ts'

/** The filters as they are in the address and in the form: texts, empty if they are not set. */
export type FilterTexts = Readonly<ReturnType<typeof filterTextsOf>>

/** The filters that an address holds. */
export function filterTextsOf(query: URLSearchParams) {
  const text = (name: string): string => query.get(name) ?? ''
  return {
    q: text('q'),
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
  /** The user came here to search. */
  readonly hasFocus: boolean
}

const NO_FILTERS = filterTextsOf(new URLSearchParams())

/** One search field, chips that apply at once, and further filters. The address holds them, so Back undoes a search. */
export function EvidenceFilters({ filters, categories, hasFocus }: EvidenceFiltersProps) {
  const t = texts.evidences
  const { values, change, props } = useForm(filters)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (hasFocus) form.current?.querySelector<HTMLInputElement>('input[type=search]')?.focus()
  }, [])
  const show = (next: FilterTexts): void => navigate(['evidences'], withoutEmpty(next))
  const submit = (event: Event): void => {
    event.preventDefault()
    show(values)
  }
  const chip = (label: string, icon: IconName | undefined, part: Partial<FilterTexts>, isOn: boolean) => (
    <button type="button" class="chip" aria-pressed={isOn} onClick={() => show({ ...filters, ...part })}>
      {icon && <Icon name={icon} />}
      {label}
    </button>
  )
  const { status, sort } = filters
  const isAll = Object.values(filters).every((text) => text === '')
  return (
    <form role="search" onSubmit={submit} ref={form}>
      <div class="search">
        <Icon name="search" />
        <input
          type="search"
          aria-label={t.apply}
          placeholder={t.searchHint}
          autocomplete="off"
          value={values.q}
          onInput={(event) => change({ q: event.currentTarget.value })}
        />
        <kbd class="wide-only">/</kbd>
      </div>
      <div class="row chips">
        {chip(texts.all, undefined, NO_FILTERS, isAll)}
        {chip(t.stolen, 'warning', { status: status === 'stolen' ? '' : 'stolen' }, status === 'stolen')}
        {chip(t.active, 'tick', { status: status === 'active' ? '' : 'active' }, status === 'active')}
        {chip(t.updated, 'clock', { sort: sort === 'updated' ? '' : 'updated' }, sort === 'updated')}
      </div>
      <MoreFilters filters={filters} categories={categories} form={{ values, change, props }} />
    </form>
  )
}

interface MoreFiltersProps extends Pick<EvidenceFiltersProps, 'filters' | 'categories'> {
  readonly form: Pick<FormTexts<keyof FilterTexts>, 'values' | 'change' | 'props'>
}

/** The filters that are used less often, folded unless one of them is set. */
function MoreFilters({ filters, categories, form: { values, change, props } }: MoreFiltersProps) {
  const t = texts.evidences
  const { externalId, owner, categoryId, subcategoryId, createdFrom, createdTo } = filters
  const isOpen = [externalId, owner, categoryId, subcategoryId, createdFrom, createdTo].some((text) => text !== '')
  const subcategories = categories.find(({ id }) => id === values.categoryId)?.subcategories ?? []
  return (
    <details class="fold" open={isOpen}>
      <summary>
        {t.moreFilters}
        <Icon name="down" />
      </summary>
      <div class="grid filters">
        <TextField label={texts.fields.externalId} hint={t.externalIdHint} {...props('externalId')} />
        <TextField label={texts.fields.owner} hint={t.ownerHint} {...props('owner')} />
        <SelectField
          label={t.category}
          value={values.categoryId}
          onChange={(id) => change({ categoryId: id, subcategoryId: '' })}
          choices={nameChoices(categories)}
        />
        <SelectField label={t.subcategory} {...props('subcategoryId')} choices={nameChoices(subcategories)} />
        <TextField label={t.from} type="datetime-local" {...props('createdFrom')} />
        <TextField label={t.to} type="datetime-local" {...props('createdTo')} />
        <button class="primary" type="submit">
          {t.apply}
        </button>
      </div>
    </details>
  )
}

const nameChoices = (list: readonly { readonly id: string; readonly name: string }[]) => [
  ['', texts.evidences.any] as const,
  ...list.map(({ id, name }) => [id, name] as const),
]
